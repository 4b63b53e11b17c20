#include "view/live.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "view/event_lines.h"

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

static void activate(struct live *l, uint32_t task)
{
    for (size_t i = 0; i < l->active.n; i++) {
        if (l->active.v[i] == task)
            return;
    }
    vec_push(&l->active, task);
}

static void deactivate(struct live *l, uint32_t task)
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
        deactivate(l, task);
    else
        activate(l, task);
}

void live_state(struct live *l, uint32_t task, enum task_state state)
{
    bool under_way = l->tasks[task].state > TASK_READY && !is_over(l->tasks[task].state);
    if (under_way && state > TASK_READY && !is_over(state))
        set_state(l, task, state);
}

void live_recall(struct live *l, uint32_t task, enum task_state state)
{
    if (is_over(state))
        set_state(l, task, state);
}

static void take_begin(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    activity_set(&lt->doing, NULL);
    lt->attempt = ev->attempt;
    lt->since = ev->time;
    lt->resume = 0;
    lt->lane = -1;
    lt->tokens = 0;
    lt->usd = 0;
    set_state(l, task, TASK_PREPARING);
}

/* An attempt in the workspace of the last one is not prepared. */
static void take_start(struct live *l, uint32_t task, const struct event *ev)
{
    if (l->tasks[task].attempt != ev->attempt)
        take_begin(l, task, ev);
    set_state(l, task, TASK_RUNNING);
}

static void take_action(struct live *l, uint32_t task, const struct event *ev)
{
    activity_take_action(&l->tasks[task].doing, ev->data, ev->time);
}

static void take_question(struct live *l, uint32_t task, const struct event *ev)
{
    activity_take_question(&l->tasks[task].doing, ev->data);
}

static void take_usage(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    const struct node *usd = node_get(ev->data, "usd");
    int64_t tokens =
        node_new_int(ev->data, "tokens_in", 0) + node_new_int(ev->data, "tokens_out", 0);
    l->tokens += tokens - lt->tokens;
    lt->tokens = tokens;
    if (usd && usd->kind == NODE_REAL) {
        l->usd += usd->real - lt->usd;
        lt->usd = usd->real;
    }
}

static void take_exit(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    activity_set(&l->tasks[task].doing, NULL);
    set_state(l, task, TASK_COMMITTING);
}

static void take_landing(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_LANDING);
}

static void take_retry(struct live *l, uint32_t task, const struct event *ev)
{
    struct live_task *lt = &l->tasks[task];
    autobuf struct buf why = BUF_INIT;
    buf_addstr(&why, node_new_string(ev->data, "class", ""));
    buf_addf(&why, "%s%s", why.len ? ": " : "", node_new_string(ev->data, "reason", ""));
    activity_set(&lt->doing, why.s);
    lt->resume = ev->time + node_new_int(ev->data, "delay_ms", 0);
    set_state(l, task, TASK_WAITING);
}

static void take_parked(struct live *l, uint32_t task, const struct event *ev)
{
    take_retry(l, task, ev);
    l->tasks[task].lane = node_new_int(ev->data, "lane", 0);
}

static void take_done(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_DONE);
}

static void take_landed(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_LANDED);
}

static void take_conflict(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_CONFLICTED);
}

static void take_failure(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_FAILED);
}

static void take_skip(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    set_state(l, task, TASK_SKIPPED);
}

static void take_unskipped(struct live *l, uint32_t task, const struct event *ev)
{
    (void)ev;
    activity_set(&l->tasks[task].doing, NULL);
    l->tasks[task].resume = 0;
    set_state(l, task, TASK_WAITING);
}

/* What each event changes, and the colour of its line where it scrolls by. */
static const struct {
    void (*take)(struct live *l, uint32_t task, const struct event *ev);
    const char *color;
} kinds[EV_COUNT_] = {
    [EV_TASK_PREPARING] = {take_begin, NULL},
    [EV_TASK_STARTED] = {take_start, NULL},
    [EV_TASK_ACTION] = {take_action, NULL},
    [EV_TASK_USAGE] = {take_usage, NULL},
    [EV_TASK_WAITING] = {take_question, YELLOW},
    [EV_TASK_EXITED] = {take_exit, NULL},
    [EV_TASK_DONE] = {take_done, GREEN},
    [EV_TASK_COMMITTED] = {take_landing, NULL},
    [EV_TASK_VERIFIED] = {take_landing, NULL},
    [EV_TASK_RETRIED] = {take_retry, YELLOW},
    [EV_TASK_PARKED] = {take_parked, YELLOW},
    [EV_TASK_LANDED] = {take_landed, GREEN},
    [EV_TASK_CONTINUED] = {take_retry, YELLOW},
    [EV_TASK_CONFLICTED] = {take_conflict, RED},
    [EV_TASK_FAILED] = {take_failure, RED},
    [EV_TASK_SKIPPED] = {take_skip, YELLOW},
    [EV_TASK_UNSKIPPED] = {take_unskipped, YELLOW},
    [EV_TASK_SAID] = {NULL, YELLOW},
    [EV_TASK_SWEPT] = {NULL, YELLOW},
    [EV_TASK_SALVAGED] = {NULL, YELLOW},
    [EV_SCOPE_VIOLATED] = {NULL, YELLOW},
    [EV_GIT_STATE_CHANGED] = {NULL, YELLOW},
    [EV_NOTIFY_FAILED] = {NULL, YELLOW},
    [EV_LIMIT_OPENED] = {NULL, YELLOW},
    [EV_LIMIT_CLOSED] = {NULL, GREEN},
    [EV_RUN_PAUSED] = {NULL, YELLOW},
    [EV_RUN_RESUMED] = {NULL, YELLOW},
    [EV_RUN_WORKERS] = {NULL, YELLOW},
    [EV_TASK_STOPPING] = {NULL, YELLOW},
    [EV_BUDGET_RAISED] = {NULL, YELLOW},
};

static void scroll(struct live *l, const struct event *ev)
{
    autobuf struct buf line = BUF_INIT;
    event_line(ev, l->started, false, &line);
    if (!line.len)
        return;
    buf_cut(&line, line.len - 1);
    const char *color = l->color ? kinds[ev->kind].color : "";
    buf_addf(&l->scroll, "%s%s%s\n", color, line.s, l->color ? PLAIN : "");
}

void live_event(struct live *l, const struct event *ev)
{
    const struct task *task = ev->task ? plan_find(l->plan, ev->task) : NULL;
    if (!l->started)
        l->started = ev->time;
    if (task && kinds[ev->kind].take)
        kinds[ev->kind].take(l, task->index, ev);
    if (ev->kind == EV_LIMIT_OPENED)
        limits_opened(&l->limits, ev->data, ev->time);
    if (ev->kind == EV_LIMIT_CLOSED)
        limits_closed(&l->limits, ev->data);
    if (kinds[ev->kind].color)
        scroll(l, ev);
}

/* Ends the line that begins at `start`, cut to less than the screen's width. */
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

/* In whole seconds, so that the screen stays quiet. */
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
        buf_addstr(out, "goes on in ");
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

/* The longest way to the end; what takes longer than estimated may end at any moment. */
static int64_t time_left(const struct live *l, int64_t now)
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
                  {busy, "under way"},
                  {l->count[TASK_WAITING] + l->count[TASK_READY], "waiting"}};
    buf_addf(out, "%zu of %zu done", done, all);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (counts[i].n)
            buf_addf(out, ", %zu %s", counts[i].n, counts[i].word);
    }
}

static void add_totals(const struct live *l, int64_t now, struct buf *out)
{
    int64_t left = l->graph->estimated ? time_left(l, now) : 0;
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

static size_t id_column(const struct live *l, size_t shown, size_t columns)
{
    size_t width = ID_MIN, most = columns / 3 > ID_MIN ? columns / 3 : ID_MIN;
    for (size_t i = 0; i < shown; i++) {
        const char *id = l->plan->tasks[l->active.v[i]].id;
        size_t used = text_width(id, strlen(id));
        width = used > width ? used : width;
    }
    return width < most ? width : most;
}

static size_t parked_in(const struct live *l, int64_t lane)
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
        limit_text(&l->limits.list.v[i], parked_in(l, l->limits.list.v[i].lane), now, out);
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
    size_t id_width = id_column(l, shown, columns), start;
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

/* Rows that the painted block takes now: a terminal that became narrower has wrapped its lines. */
static size_t rows_of(const struct buf *block, size_t columns)
{
    size_t n = 0;
    const char *end;
    for (const char *s = block->s; (end = strchr(s, '\n')); s = end + 1) {
        size_t width = text_width(s, (size_t)(end - s));
        n += width ? (width + columns - 1) / columns : 1;
    }
    return n;
}

/* Goes up to where the block begins, and clears all from there. */
static void erase(struct live *l, size_t columns, size_t rows, struct buf *out)
{
    size_t up = rows_of(&l->painted, columns);
    if (up >= rows)
        up = rows - 1;
    if (up)
        buf_addf(out, "\033[%zuA", up);
    if (l->painted.len)
        buf_addstr(out, "\r\033[J");
    buf_cut(&l->painted, 0);
    buf_add(out, l->scroll.s, l->scroll.len);
    buf_cut(&l->scroll, 0);
}

static void add_block(const struct live *l, const struct buf *block, struct buf *out)
{
    size_t last = block->len - 1; /* where the totals begin */
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
    erase(l, columns, rows, out);
    add_block(l, &block, out);
    buf_add(&l->painted, block.s, block.len);
    l->columns = columns;
}

void live_finish(struct live *l, size_t columns, size_t rows, struct buf *out)
{
    erase(l, columns, rows, out);
}

void live_forget(struct live *l)
{
    buf_cut(&l->painted, 0);
}
