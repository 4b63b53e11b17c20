#include "view/live.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "view/event_lines.h"
#include "view/redraw.h"

#include <string.h>

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define DIM    "\033[2m"
#define PLAIN  "\033[0m"

enum { ID_MIN = 8 };

void live_init(struct live *l, const struct plan *plan, const struct graph *graph,
               const bool *wanted, bool color)
{
    *l = (struct live){
        .plan = plan, .graph = graph, .color = color, .scroll = BUF_INIT, .painted = BUF_INIT};
    l->tasks = mem_array(plan->task_count, sizeof(*l->tasks));
    l->rest = mem_array(plan->task_count, sizeof(*l->rest));
    for (size_t i = plan->task_count; i-- > 0;) {
        uint32_t t = graph->order[i];
        l->tasks[t].lane = -1;
        if (wanted && !wanted[t]) {
            l->tasks[t].state = TASK_DONE;
            continue;
        }
        l->count[TASK_WAITING]++;
        for (uint32_t k = graph->dependents_at[t]; k < graph->dependents_at[t + 1]; k++) {
            int64_t rest = l->rest[graph->dependents[k]];
            l->rest[t] = rest > l->rest[t] ? rest : l->rest[t];
        }
        l->rest[t] += graph_weight(graph, t);
    }
}

void live_done(struct live *l)
{
    for (size_t t = 0; t < l->plan->task_count; t++)
        activity_done(&l->tasks[t].doing);
    free(l->tasks);
    free(l->rest);
    vec_done(&l->active);
    limits_shown_done(&l->limits);
    buf_done(&l->scroll);
    buf_done(&l->painted);
}

static bool is_over(enum task_state state)
{
    return state >= TASK_LANDED;
}

static void add_active_task(struct live *l, uint32_t task)
{
    for (size_t i = 0; i < l->active.n; i++) {
        if (l->active.v[i] == task)
            return;
    }
    vec_push(&l->active, task);
}

static void remove_active_task(struct live *l, uint32_t task)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->active.n; i++) {
        if (l->active.v[i] != task)
            l->active.v[kept++] = l->active.v[i];
    }
    l->active.n = kept;
}

static void set_state(struct live *l, uint32_t task, enum task_state state)
{
    l->count[l->tasks[task].state]--;
    l->count[state]++;
    l->tasks[task].state = state;
    if (is_over(state))
        remove_active_task(l, task);
    else
        add_active_task(l, task);
}

void live_state(struct live *l, uint32_t task, enum task_state state)
{
    bool running = l->tasks[task].state > TASK_READY && !is_over(l->tasks[task].state);
    if (running && state > TASK_READY && !is_over(state))
        set_state(l, task, state);
}

void live_recall(struct live *l, uint32_t task, enum task_state state)
{
    if (is_over(state))
        set_state(l, task, state);
}

static void apply_preparing(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    activity_set(&lt->doing, NULL);
    lt->attempt = ev->attempt;
    lt->since = ev->time;
    lt->resume = 0;
    lt->lane = -1;
    lt->tokens = 0;
    lt->usd = 0;
}

/* An attempt that reuses the workspace skips "preparing". */
static void apply_started(struct live *l, uint32_t task, const struct event *ev)
{
    if (l->tasks[task].attempt != ev->attempt)
        apply_preparing(l, task, ev);
}

static void apply_usage(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    const struct node *usd = node_get(ev->data, "usd");
    int64_t tokens =
        node_get_int(ev->data, "tokens_in", 0) + node_get_int(ev->data, "tokens_out", 0);
    l->tokens += tokens - lt->tokens;
    lt->tokens = tokens;
    if (usd && usd->kind == NODE_REAL) {
        l->usd += usd->real - lt->usd;
        lt->usd = usd->real;
    }
}

static void apply_retried(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    autobuf struct buf why = BUF_INIT;
    buf_addstr(&why, node_get_string(ev->data, "class", ""));
    buf_addf(&why, "%s%s", why.len ? ": " : "", node_get_string(ev->data, "reason", ""));
    activity_set(&lt->doing, why.s);
    lt->resume = ev->time + node_get_int(ev->data, "delay_ms", 0);
    set_state(l, task, TASK_WAITING);
}

static void apply_parked(struct live *l, uint32_t task, const struct event *ev)
{
    apply_retried(l, task, ev);
    l->tasks[task].lane = node_get_int(ev->data, "lane", 0);
}

static void apply_unskipped(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    activity_set(&l->tasks[task].doing, NULL);
    l->tasks[task].resume = 0;
    set_state(l, task, TASK_WAITING);
}

/* The effect of each event, the state that its task enters (TASK_WAITING: see `apply`), and the
 * colour of its line (NULL: no line). */
static const struct {
    void (*apply)(struct live *l, uint32_t task, const struct event *ev);
    enum task_state state;
    const char *color;
} event_rules[EV_COUNT_] = {
    [EV_TASK_PREPARING] = {.apply = apply_preparing, .state = TASK_PREPARING},
    [EV_TASK_STARTED] = {.apply = apply_started, .state = TASK_RUNNING},
    [EV_TASK_USAGE] = {.apply = apply_usage},
    [EV_TASK_WAITING] = {.color = YELLOW},
    [EV_TASK_EXITED] = {.state = TASK_COMMITTING},
    [EV_TASK_DONE] = {.state = TASK_DONE, .color = GREEN},
    [EV_TASK_COMMITTED] = {.state = TASK_LANDING},
    [EV_TASK_VERIFIED] = {.state = TASK_LANDING},
    [EV_TASK_RETRIED] = {.apply = apply_retried, .color = YELLOW},
    [EV_TASK_PARKED] = {.apply = apply_parked, .color = YELLOW},
    [EV_TASK_LANDED] = {.state = TASK_LANDED, .color = GREEN},
    [EV_TASK_CONTINUED] = {.apply = apply_retried, .color = YELLOW},
    [EV_TASK_CONFLICTED] = {.state = TASK_CONFLICTED, .color = RED},
    [EV_TASK_FAILED] = {.state = TASK_FAILED, .color = RED},
    [EV_TASK_SKIPPED] = {.state = TASK_SKIPPED, .color = YELLOW},
    [EV_TASK_UNSKIPPED] = {.apply = apply_unskipped, .color = YELLOW},
    [EV_TASK_SAID] = {.color = YELLOW},
    [EV_TASK_SWEPT] = {.color = YELLOW},
    [EV_TASK_SALVAGED] = {.color = YELLOW},
    [EV_SCOPE_VIOLATED] = {.color = YELLOW},
    [EV_GIT_STATE_CHANGED] = {.color = YELLOW},
    [EV_NOTIFY_FAILED] = {.color = YELLOW},
    [EV_LIMIT_OPENED] = {.color = YELLOW},
    [EV_LIMIT_CLOSED] = {.color = GREEN},
    [EV_RUN_PAUSED] = {.color = YELLOW},
    [EV_RUN_RESUMED] = {.color = YELLOW},
    [EV_RUN_WORKERS] = {.color = YELLOW},
    [EV_TASK_STOPPING] = {.color = YELLOW},
    [EV_BUDGET_RAISED] = {.color = YELLOW},
};

static void add_scroll_line(struct live *l, const struct event *ev)
{
    autobuf struct buf line = BUF_INIT;
    event_line(ev, l->started, false, &line);
    if (!line.len)
        return;
    buf_cut(&line, line.len - 1);
    const char *color = l->color ? event_rules[ev->kind].color : "";
    buf_addf(&l->scroll, "%s%s%s\n", color, line.s, l->color ? PLAIN : "");
}

void live_event(struct live *l, const struct event *ev)
{
    const struct task *task = ev->task ? plan_find(l->plan, ev->task) : NULL;
    if (!l->started)
        l->started = ev->time;
    if (task)
        activity_event(&l->tasks[task->index].doing, ev);
    if (task && event_rules[ev->kind].apply)
        event_rules[ev->kind].apply(l, task->index, ev);
    if (task && event_rules[ev->kind].state)
        set_state(l, task->index, event_rules[ev->kind].state);
    if (ev->kind == EV_LIMIT_OPENED)
        limits_opened(&l->limits, ev->data, ev->time);
    if (ev->kind == EV_LIMIT_CLOSED)
        limits_closed(&l->limits, ev->data);
    if (event_rules[ev->kind].color)
        add_scroll_line(l, ev);
}

/* Ends the line that starts at `start`; cuts it to less than the screen's width. */
static void end_line(struct buf *out, size_t start, size_t columns)
{
    size_t room = columns > 1 ? columns - 1 : 1;
    while (out->len > start && out->s[out->len - 1] == ' ')
        buf_cut(out, out->len - 1);
    if (text_width(out->s + start, out->len - start) > room) {
        size_t dots = room > 3 ? 3 : 0;
        buf_cut(out, start + text_fit(out->s + start, out->len - start, room - dots));
        buf_addrep(out, '.', dots);
    }
    buf_addch(out, '\n');
}

static void add_usage(struct buf *out, int64_t tokens, double usd)
{
    if (tokens > 0) {
        text_format_count(out, tokens);
        buf_addstr(out, " tokens  ");
    }
    if (usd > 0)
        buf_addf(out, "$%.2f  ", usd);
}

static void add_id(struct buf *out, const char *id, size_t width)
{
    autobuf struct buf safe = BUF_INIT;
    size_t start = out->len;
    text_add_harmless(&safe, id);
    buf_add(out, safe.s, text_fit(safe.s, safe.len, width));
    text_pad(out, start, width + 2);
}

static void add_task(const struct live *l, uint32_t task, int64_t now, size_t id_width,
                     size_t columns, struct buf *out)
{
    const struct live_task *lt = &l->tasks[task];
    size_t begin = out->len;
    buf_addstr(out, "  ");
    add_id(out, l->plan->tasks[task].id, id_width);
    buf_addf(out, "%-10s  ", task_state_name(lt->state));
    size_t start = out->len;
    if (lt->resume) {
        buf_addstr(out, "resumes in ");
        text_format_seconds(out, lt->resume - now + 999);
    } else {
        text_format_seconds(out, now - lt->since);
    }
    text_pad(out, start, 6);
    buf_addstr(out, "  ");
    if (lt->attempt > 1 && !lt->resume)
        buf_addf(out, "attempt %d  ", lt->attempt);
    add_usage(out, lt->tokens, lt->usd);
    size_t used = text_width(out->s + begin, out->len - begin) + 1;
    activity_text(&lt->doing, now, used < columns ? columns - used : 0, out);
}

/* The longest path to the end. A task that takes longer than estimated may end at any moment. */
static int64_t get_time_left(const struct live *l, int64_t now)
{
    int64_t left = 0;
    for (uint32_t t = 0; t < l->plan->task_count; t++) {
        const struct live_task *lt = &l->tasks[t];
        if (is_over(lt->state))
            continue;
        int64_t weight = graph_weight(l->graph, t);
        int64_t spent = lt->state > TASK_READY ? now - lt->since : 0;
        int64_t rest = l->rest[t] - (spent < weight ? spent : weight);
        left = rest > left ? rest : left;
    }
    return left;
}

static void add_counts(const struct live *l, struct buf *out)
{
    size_t done = l->count[TASK_LANDED] + l->count[TASK_DONE], all = 0, busy = 0;
    for (size_t s = 0; s < TASK_STATE_COUNT_; s++) {
        all += l->count[s];
        busy += s > TASK_READY && !is_over((enum task_state)s) ? l->count[s] : 0;
    }
    const struct {
        size_t n;
        const char *word;
    } counts[] = {{l->count[TASK_FAILED], "failed"},
                  {l->count[TASK_CONFLICTED], "in conflict"},
                  {l->count[TASK_SKIPPED], "skipped"},
                  {busy, "running"},
                  {l->count[TASK_WAITING] + l->count[TASK_READY], "waiting"}};
    buf_addf(out, "%zu of %zu done", done, all);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (counts[i].n)
            buf_addf(out, ", %zu %s", counts[i].n, counts[i].word);
    }
}

static void add_totals(const struct live *l, int64_t now, struct buf *out)
{
    int64_t left = l->graph->estimated ? get_time_left(l, now) : 0;
    text_format_seconds(out, l->started ? now - l->started : 0);
    if (left > 0) {
        buf_addstr(out, ", about ");
        text_format_seconds(out, left + 999);
        buf_addstr(out, " left");
    }
    buf_addstr(out, ": ");
    add_counts(l, out);
    buf_addstr(out, "  ");
    add_usage(out, l->tokens, l->usd);
}

static size_t get_id_width(const struct live *l, size_t shown, size_t columns)
{
    size_t width = ID_MIN, most = columns / 3 > ID_MIN ? columns / 3 : ID_MIN;
    for (size_t i = 0; i < shown; i++) {
        const char *id = l->plan->tasks[l->active.v[i]].id;
        size_t used = text_width(id, strlen(id));
        width = used > width ? used : width;
    }
    return width < most ? width : most;
}

static size_t count_parked(const struct live *l, int64_t lane)
{
    size_t n = 0;
    for (size_t i = 0; i < l->active.n; i++)
        n += l->tasks[l->active.v[i]].lane == lane;
    return n;
}

static void add_limits(const struct live *l, int64_t now, size_t n, size_t columns, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = out->len;
        limit_text(&l->limits.list.v[i], count_parked(l, l->limits.list.v[i].lane), now, out);
        end_line(out, start, columns);
    }
}

void live_block(const struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out)
{
    size_t room = rows > 2 ? rows - 2 : 0, shown = l->active.n;
    size_t limits = l->limits.list.n < room ? l->limits.list.n : room;
    room -= limits;
    if (shown > room)
        shown = room ? room - 1 : 0;
    size_t id_width = get_id_width(l, shown, columns), start;
    for (size_t i = 0; i < shown; i++) {
        start = out->len;
        add_task(l, l->active.v[i], now, id_width, columns, out);
        end_line(out, start, columns);
    }
    start = out->len;
    if (shown < l->active.n && room) {
        buf_addf(out, "  ... and %zu more", l->active.n - shown);
        end_line(out, start, columns);
    }
    add_limits(l, now, limits, columns, out);
    start = out->len;
    add_totals(l, now, out);
    end_line(out, start, columns);
}

static void add_block(const struct live *l, const struct buf *block, struct buf *out)
{
    size_t last = block->len - 1; /* start of the totals */
    while (last && block->s[last - 1] != '\n')
        last--;
    buf_add(out, block->s, last);
    if (l->color)
        buf_addf(out, DIM "%.*s" PLAIN "\n", (int)(block->len - last - 1), block->s + last);
    else
        buf_addstr(out, block->s + last);
}

void live_paint(struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out)
{
    autobuf struct buf block = BUF_INIT;
    live_block(l, now, columns, rows, &block);
    if (!l->scroll.len && columns == l->columns && strcmp(block.s, l->painted.s) == 0)
        return;
    live_finish(l, columns, rows, out);
    add_block(l, &block, out);
    buf_add(&l->painted, block.s, block.len);
    l->columns = columns;
}

void live_finish(struct live *l, size_t columns, size_t rows, struct buf *out)
{
    redraw_erase(&l->painted, columns, rows, out);
    buf_add(out, l->scroll.s, l->scroll.len);
    buf_cut(&l->scroll, 0);
}

void live_forget(struct live *l)
{
    buf_cut(&l->painted, 0);
}
