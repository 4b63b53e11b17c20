#include "cli/run/run_view.h"

#include "cli/frame/cli.h"
#include "cli/frame/color.h"
#include "doc/doc.h"
#include "sys/clock.h"
#include "sys/term.h"
#include "view/event_lines.h"

#include <signal.h>
#include <string.h>

enum { FRAME_MS = 100, DEFAULT_COLUMNS = 80, DEFAULT_ROWS = 24 };

/* Set when the program continues after a stop: the shell has used the screen meanwhile. */
static volatile sig_atomic_t was_continued;

static void on_continue(int signal)
{
    (void)signal;
    was_continued = 1;
}

static void catch_continue(bool on)
{
    struct sigaction sa = {.sa_handler = on ? on_continue : SIG_DFL, .sa_flags = SA_RESTART};
    (void)sigaction(SIGCONT, &sa, NULL); /* cannot fail: a fixed signal, a valid address */
}

bool run_view_can_draw(FILE *to)
{
    const char *term = getenv("TERM");
    return isatty(fileno(to)) && term && *term && strcmp(term, "dumb") != 0;
}

/* We ignore failures: the run continues when nobody reads its output. */
static void print_output(const struct run_view *v, const struct buf *out)
{
    if (out->len && v->to == stdout)
        (void)cli_print(out->s, out->len);
    else if (out->len)
        (void)fwrite(out->s, 1, out->len, v->to);
}

static void print_event_line(void *ctx, const struct event *ev)
{
    struct run_view *v = ctx;
    autobuf struct buf out = BUF_INIT;
    if (!v->started)
        v->started = ev->time;
    event_line(ev, v->started, v->kind == VIEW_PROBLEMS, &out);
    print_output(v, &out);
}

static void print_event_json(void *ctx, const struct event *ev)
{
    autobuf struct buf out = BUF_INIT;
    autoarena struct arena a = {0};
    const struct run_view *v = ctx;
    doc_write_whole_line(&out, event_encode(ev, &a));
    print_output(v, &out);
}

/* We ask for the size before each frame, so a resize needs no signal. */
static struct term_size get_screen_size(const struct run_view *v)
{
    struct term_size size = term_size(fileno(v->to));
    return (struct term_size){size.columns ? size.columns : DEFAULT_COLUMNS,
                              size.rows ? size.rows : DEFAULT_ROWS};
}

static void update_live(void *ctx, const struct event *ev)
{
    struct run_view *v = ctx;
    live_event(&v->live, ev);
    if (!v->started)
        v->started = ev->time;
    if (ev->kind == EV_TASK_SWEPT) /* printed below the view, at the end */
        event_line(ev, v->started, false, &v->later);
    for (uint32_t t = 0; ev->kind == EV_RUN_RESUMED && t < v->live.plan->task_count; t++)
        live_recall(&v->live, t, run_task(v->run, t).state);
}

static void draw_live(void *ctx)
{
    struct run_view *v = ctx;
    struct live *l = &v->live;
    struct term_size size = get_screen_size(v);
    autobuf struct buf out = BUF_INIT;
    if (was_continued)
        live_forget(l);
    was_continued = 0;
    for (size_t i = 0; i < l->active.n; i++)
        live_state(l, l->active.v[i], run_task(v->run, l->active.v[i]).state);
    live_paint(l, clock_wall(), size.columns, size.rows, &out);
    print_output(v, &out);
}

void run_view_begin(struct run_view *v, enum run_view_kind kind, FILE *to, struct run *run,
                    const struct plan_file *pf, const bool *wanted)
{
    *v = (struct run_view){.kind = kind, .to = to, .run = run, .later = BUF_INIT};
    if (kind != VIEW_LIVE) {
        run_observe(run, kind == VIEW_JSON ? print_event_json : print_event_line, v);
        return;
    }
    live_init(&v->live, &pf->plan, &pf->graph, wanted, color_wanted(to));
    run_observe(run, update_live, v);
    run_every(run, FRAME_MS, draw_live, v);
    catch_continue(true);
}

void run_view_end(struct run_view *v)
{
    struct term_size size = get_screen_size(v);
    autobuf struct buf out = BUF_INIT;
    if (v->kind != VIEW_LIVE)
        return;
    catch_continue(false);
    live_finish(&v->live, size.columns, size.rows, &out);
    buf_add(&out, v->later.s, v->later.len);
    print_output(v, &out);
    buf_done(&v->later);
    live_done(&v->live);
}
