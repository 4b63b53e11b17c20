#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "cli/common/lookup.h"
#include "cli/frame/cli.h"
#include "cli/frame/commands.h"
#include "cli/run/run_view.h"
#include "doc/doc.h"
#include "git/batch.h"
#include "sys/clock.h"
#include "sys/term.h"
#include "view/plan/thread_text.h"
#include "view/redraw.h"
#include "view/report/kept_ref.h"
#include "view/report/summary.h"

#include <string.h>
#include <unistd.h>

enum { WATCH_MS = 1000, DEFAULT_COLUMNS = 80, DEFAULT_ROWS = 24 };

struct status_opts {
    bool json, watch;
};

static void add_head(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    buf_addf(out, "Run %s: %s", row->id, report_state(r));
    if (row->finished)
        buf_addf(out, ", exit code %d", row->exit_code);
    buf_addstr(out, ", ");
    text_format_duration(out, r->duration > 0 ? r->duration : 0);
    if (row->base)
        buf_addf(out, ", on %s", row->base);
    if (row->plan)
        text_addf(out, ", %s", row->plan);
    buf_addch(out, '\n');
}

static size_t count_parked(const struct report *r, int64_t lane)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->tasks[i].lane == lane;
    return n;
}

/* Appends the usage limits that tasks wait for, also if the run must be resumed for that. */
static void add_limits(const struct report *r, struct buf *out)
{
    int64_t now = clock_wall();
    for (size_t i = 0; i < r->limits.list.n; i++) {
        const struct limit_shown *limit = &r->limits.list.v[i];
        if (limit->until <= now)
            continue;
        limit_text(limit, count_parked(r, limit->lane), now, out);
        buf_addch(out, '\n');
    }
}

static void put_limits(const struct report *r, struct arena *a, struct node *map)
{
    int64_t now = clock_wall();
    struct node *list = node_put_list(a, map, "limits");
    for (size_t i = 0; i < r->limits.list.n; i++) {
        const struct limit_shown *limit = &r->limits.list.v[i];
        autobuf struct buf until = BUF_INIT;
        if (limit->until <= now)
            continue;
        struct node *entry = node_add_map(a, list);
        timestamp_format(&until, limit->until);
        node_put_string(a, entry, "engine", limit->engine);
        node_put_string(a, entry, "until", until.s);
        node_put_int(a, entry, "parked", (int64_t)count_parked(r, limit->lane));
    }
}

struct status {
    struct lookup look;
    struct report run;
    struct threads threads;
    struct git_batch *batch;
    struct thread_looks looks;
};

static void status_close(struct status *s)
{
    thread_looks_close(&s->looks);
    git_batch_free(s->batch);
    threads_done(&s->threads);
    report_done(&s->run);
    lookup_close(&s->look);
}
#define autostatus own_cleanup(status_close)

static int has_run(struct status *s, bool *ret_yes)
{
    struct err err = {0};
    autoarena struct arena a = {0};
    struct store_run newest = {0};
    int rc = s->look.store ? store_find_run(s->look.store, NULL, &a, &newest, &err) : 0;
    *ret_yes = newest.id;
    return rc ? cli_fail_by(&err) : EXIT_OK;
}

static int load_threads(struct status *s)
{
    struct err err = {0};
    if (!s->look.repo.root)
        return EXIT_OK;
    if (threads_load(&s->threads, &s->look.repo, &err))
        return cli_fail_by(&err);
    if (!s->threads.n)
        return EXIT_OK;
    s->batch = git_batch_new(s->look.repo.common);
    return thread_looks_open(&s->looks, &s->look.repo, s->batch, &s->threads, NULL, true, &err)
               ? cli_fail_by(&err)
               : EXIT_OK;
}

static int find_kept_refs(struct status *s)
{
    struct err err = {0};
    if (report_find_kept(&s->run, s->look.repo.common, &err))
        return cli_fail_by(&err);
    report_find_merge_place(&s->run, &s->look.repo);
    return EXIT_OK;
}

/* With a run's name we show only the run, without threads. */
static int status_open(struct status *s, const char *word)
{
    bool ran;
    *s = (struct status){0};
    int code = lookup_find(&s->look);
    if (code == EXIT_OK && !word)
        code = load_threads(s);
    if (code == EXIT_OK)
        code = has_run(s, &ran);
    if (code != EXIT_OK)
        return code;
    if (!ran && (s->threads.n || s->threads.damaged.n))
        return EXIT_OK;
    if (!ran)
        return cli_fail(EXIT_USAGE, "nothing was ever run in this repository");
    code = lookup_run(&s->look, word, &s->run);
    return code == EXIT_OK ? find_kept_refs(s) : code;
}

static void add_text(const struct status *s, struct buf *out)
{
    if (s->run.row.id) {
        add_head(&s->run, out);
        add_limits(&s->run, out);
        summary(&s->run, false, out);
        summary_kept(&s->run, out);
    }
    bool has_threads = s->looks.n || s->threads.damaged.n;
    if (s->run.row.id && has_threads)
        buf_addch(out, '\n');
    if (has_threads)
        thread_text(&s->looks, &s->threads, out);
}

static void add_json(const struct status *s, bool line, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = s->run.row.id ? report_encode(&s->run, &a) : node_new_map(&a);
    if (s->run.limits.list.n)
        put_limits(&s->run, &a, map);
    if (s->looks.n || s->threads.damaged.n)
        node_put_value(&a, map, "threads", thread_encode(&s->looks, &s->threads, &a));
    if (line)
        doc_write_line(out, map);
    else
        doc_write_lines(out, map);
    if (line)
        buf_addch(out, '\n');
}

static int add_status(const struct status_opts *opts, const char *word, struct buf *out)
{
    autostatus struct status s;
    int code = status_open(&s, word);
    if (code != EXIT_OK)
        return code;
    if (opts->json)
        add_json(&s, opts->watch, out);
    else
        add_text(&s, out);
    return EXIT_OK;
}

/* Redraws in place on a terminal; elsewhere prints the new lines. */
static int print_changes(struct redraw *r, struct buf *last, const struct buf *now, bool draw)
{
    autobuf struct buf out = BUF_INIT;
    struct term_size size = term_size(STDOUT_FILENO);
    if (draw)
        redraw_paint(r, now->s, size.columns ? size.columns : DEFAULT_COLUMNS,
                     size.rows ? size.rows : DEFAULT_ROWS, &out);
    else
        redraw_news(last->s, now->s, &out);
    buf_cut(last, 0);
    buf_add(last, now->s, now->len);
    return out.len ? cli_print(out.s, out.len) : EXIT_OK;
}

/* Runs until a signal ends it or the reader leaves. If collecting the status takes long, we pause
 * longer, so that it does not keep the machine busy. */
static int watch_status(const struct status_opts *opts, const char *word)
{
    autoredraw struct redraw r = REDRAW_INIT;
    autobuf struct buf last = BUF_INIT;
    bool draw = !opts->json && run_view_can_draw(stdout);
    for (int code = EXIT_OK;;) {
        autobuf struct buf now = BUF_INIT;
        int64_t start = clock_mono();
        code = add_status(opts, word, &now);
        int64_t pause = 2 * (clock_mono() - start);
        if (code == EXIT_OK)
            code = print_changes(&r, &last, &now, draw);
        if (code == EXIT_OK && fflush(stdout) != 0)
            code = EXIT_ENV;
        if (code != EXIT_OK)
            return code;
        if (!term_pause(STDOUT_FILENO, pause > WATCH_MS ? (int)pause : WATCH_MS))
            return EXIT_OK;
    }
}

static int run_status(const void *options, char **argv)
{
    const struct status_opts *opts = options;
    const char *word = argv[0];
    autobuf struct buf out = BUF_INIT;
    if (opts->watch)
        return watch_status(opts, word);
    int code = add_status(opts, word, &out);
    return code == EXIT_OK ? cli_print(out.s, out.len) : code;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct status_opts, json), NULL, NULL,
     "Print the status as JSON, in the format of a report"},
    {"watch", 'w', OPT_FLAG, offsetof(struct status_opts, watch), NULL, NULL,
     "Show every change, until Ctrl-C"},
    {0},
};

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of its id, or 'last' (default: the newest run)",
     .optional = true},
    {0},
};

const struct command cmd_status = {
    .name = "status",
    .summary = "Show the state of a run and of threads",
    .about =
        "Shows each task of a run with its state, commit, duration and attempts, and the reason "
        "if it failed. If a run's process is gone and the run has not ended, the run is shown "
        "as interrupted.\n\n"
        "Without RUN it also shows each thread that 'fanout' made: the commits that it is ahead "
        "of and behind its base, uncommitted changes, whether it would merge with the base and "
        "with the other threads now, whether it keeps to its paths, and its pull request as "
        "'converge' knows it. Problems of a thread follow below it, with the solution: its file "
        "is damaged, it was moved, its hooks are off. The command does not use the network.",
    .examples = "anabranch status\tShow the newest run, live or ended\n"
                "anabranch status --watch\tShow it, and every change from now on\n"
                "anabranch status --json last | jq .totals\tPrint it for programs\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct status_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_status,
};
