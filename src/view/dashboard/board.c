#include "view/dashboard/board.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "view/event_lines.h"

#include <string.h>

enum { NOTES_MAX = 20000, NOTES_DROP = 4000 };

void board_init(struct board *b, const struct plan *plan, const struct graph *graph,
                const char *run)
{
    *b = (struct board){.plan = plan, .graph = graph, .n = plan->task_count, .run = run};
    b->budget = plan->budget;
    b->workers = plan->workers > 0 ? plan->workers : 0;
    b->tasks = mem_array(b->n, sizeof(*b->tasks));
    for (size_t i = 0; i < b->n; i++) {
        b->tasks[i] =
            (struct board_task){.id = plan->tasks[i].id, .wanted = true, .lane = -1, .files = -1};
        b->tasks[i].usd = b->tasks[i].usd_before = -1;
    }
    board_settle(b);
}

void board_want(struct board *b, const bool *wanted)
{
    for (size_t i = 0; i < b->n; i++)
        b->tasks[i].wanted = wanted[i];
    board_settle(b);
}

void board_meetings_done(struct board_meetings *m)
{
    free(m->tasks);
    free(m->cells);
    free(m->base);
    *m = (struct board_meetings){0};
}

void board_set_meetings(struct board *b, struct board_meetings *m)
{
    board_meetings_done(&b->meetings);
    b->meetings = *m;
    *m = (struct board_meetings){0};
}

void board_done(struct board *b)
{
    idle_done(&b->idle);
    free(b->base);
    for (size_t i = 0; i < b->n; i++) {
        struct board_task *t = &b->tasks[i];
        char *const owned[] = {t->reason, t->engine, t->workspace, t->branch, t->start, t->commit};
        activity_done(&t->doing);
        for (size_t k = 0; k < ARRAY_LEN(owned); k++)
            free(owned[k]);
        vec_done(&t->spans);
    }
    for (size_t i = 0; i < b->notes.n; i++)
        free(b->notes.v[i].text);
    vec_done(&b->notes);
    limits_shown_done(&b->limits);
    board_meetings_done(&b->meetings);
    free(b->tasks);
}

bool board_is_over(enum task_state state)
{
    return state >= TASK_LANDED;
}

bool board_is_busy(enum task_state state)
{
    return state > TASK_READY && !board_is_over(state);
}

static void replace_string(char **to, const char *s)
{
    char *copy = s ? mem_str(s) : NULL;
    free(*to);
    *to = copy;
}

static void end_span(struct board_task *t, int64_t time)
{
    if (t->spans.n && !t->spans.v[t->spans.n - 1].to)
        t->spans.v[t->spans.n - 1].to = time;
}

/* The timeline does not show tasks that wait for their start. */
static void enter_state(struct board_task *t, enum task_state state, int64_t time)
{
    bool same =
        t->spans.n && !t->spans.v[t->spans.n - 1].to && t->spans.v[t->spans.n - 1].state == state;
    t->state = state;
    if (same)
        return;
    end_span(t, time);
    if (board_is_busy(state) || (state == TASK_WAITING && t->resume))
        vec_push(&t->spans, (struct board_span){.from = time, .state = state});
    if (board_is_over(state))
        t->finished = time;
}

static void apply_preparing(struct board_task *t, const struct event *ev)
{
    if (!t->started)
        t->started = ev->time;
    activity_set(&t->doing, NULL);
    replace_string(&t->reason, NULL);
    t->attempt = ev->attempt;
    t->resume = t->finished = 0;
    t->lane = -1;
    t->before = t->tokens;
    t->usd_before = t->usd;
    t->stopping = false;
}

/* An attempt that reuses the workspace skips "preparing". */
static void apply_started(struct board_task *t, const struct event *ev)
{
    if (t->attempt != ev->attempt) {
        apply_preparing(t, ev);
        enter_state(t, TASK_PREPARING, ev->time);
    }
    replace_string(&t->engine, node_get_string(ev->data, "engine", t->engine));
    replace_string(&t->workspace, node_get_string(ev->data, "workspace", t->workspace));
}

static void apply_usage(struct board_task *t, const struct event *ev)
{
    const struct node *usd = node_get(ev->data, "usd");
    t->tokens = t->before + node_get_int(ev->data, "tokens_in", 0) +
                node_get_int(ev->data, "tokens_out", 0) + node_get_int(ev->data, "cache_made", 0);
    if (usd && usd->kind == NODE_REAL)
        t->usd = (t->usd_before > 0 ? t->usd_before : 0) + usd->real;
}

static void apply_stopping(struct board_task *t, const struct event *ev)
{
    (void)ev;
    t->stopping = true;
}

static void apply_committed(struct board_task *t, const struct event *ev)
{
    replace_string(&t->commit, node_get_string(ev->data, "commit", NULL));
    t->files = -1; /* count them again */
}

static void set_reason(struct board_task *t, const struct event *ev)
{
    autobuf struct buf why = BUF_INIT;
    buf_addstr(&why, node_get_string(ev->data, "class", ""));
    buf_addf(&why, "%s%s", why.len ? ": " : "", node_get_string(ev->data, "reason", ""));
    replace_string(&t->reason, why.len ? why.s : NULL);
    activity_set(&t->doing, NULL);
}

static void apply_retried(struct board_task *t, const struct event *ev)
{
    set_reason(t, ev);
    t->resume = ev->time + node_get_int(ev->data, "delay_ms", 0);
    enter_state(t, TASK_WAITING, ev->time);
}

static void apply_parked(struct board_task *t, const struct event *ev)
{
    apply_retried(t, ev);
    t->lane = node_get_int(ev->data, "lane", 0);
}

static void apply_conflict(struct board_task *t, const struct event *ev)
{
    autofree char *why = mem_printf("conflict: %s", node_get_string(ev->data, "files", ""));
    replace_string(&t->reason, why);
}

/* A user restored the task: it waits like a task that has not started. */
static void apply_restored(struct board_task *t, const struct event *ev)
{
    activity_set(&t->doing, NULL);
    replace_string(&t->reason, NULL);
    t->resume = t->finished = 0;
    t->lane = -1;
    t->stopping = false;
    enter_state(t, TASK_WAITING, ev->time);
}

/* The effect of each event, and the state that its task enters (TASK_WAITING: see `apply`). */
static const struct {
    void (*apply)(struct board_task *t, const struct event *ev);
    enum task_state state;
} event_rules[EV_COUNT_] = {
    [EV_TASK_PREPARING] = {apply_preparing, TASK_PREPARING},
    [EV_TASK_STARTED] = {apply_started, TASK_RUNNING},
    [EV_TASK_USAGE] = {apply_usage},
    [EV_TASK_STOPPING] = {apply_stopping},
    [EV_TASK_EXITED] = {NULL, TASK_COMMITTING},
    [EV_TASK_COMMITTED] = {apply_committed, TASK_LANDING},
    [EV_TASK_VERIFIED] = {NULL, TASK_LANDING},
    [EV_TASK_RETRIED] = {apply_retried},
    [EV_TASK_PARKED] = {apply_parked},
    [EV_TASK_CONTINUED] = {apply_restored},
    [EV_TASK_UNSKIPPED] = {apply_restored},
    [EV_TASK_LANDED] = {NULL, TASK_LANDED},
    [EV_TASK_DONE] = {NULL, TASK_DONE},
    [EV_TASK_CONFLICTED] = {apply_conflict, TASK_CONFLICTED},
    [EV_TASK_FAILED] = {set_reason, TASK_FAILED},
    [EV_TASK_SKIPPED] = {set_reason, TASK_SKIPPED},
};

static void apply_task_event(struct board_task *t, const struct event *ev)
{
    enum task_state state = event_rules[ev->kind].state;
    activity_event(&t->doing, ev);
    if (event_rules[ev->kind].apply)
        event_rules[ev->kind].apply(t, ev);
    if (board_is_over(state)) {
        activity_set(&t->doing, NULL);
        t->resume = 0;
        t->lane = -1;
    }
    if (state)
        enter_state(t, state, ev->time);
}

static void add_note(struct board *b, const struct event *ev, int64_t task)
{
    autobuf struct buf line = BUF_INIT;
    event_line(ev, b->started, false, &line);
    if (!line.len)
        return;
    buf_cut(&line, line.len - 1);
    if (b->notes.n == NOTES_MAX) { /* bounds the memory of a long run */
        for (size_t i = 0; i < NOTES_DROP; i++)
            free(b->notes.v[i].text);
        memmove(b->notes.v, b->notes.v + NOTES_DROP,
                (NOTES_MAX - NOTES_DROP) * sizeof(*b->notes.v));
        b->notes.n -= NOTES_DROP;
    }
    vec_push(&b->notes, (struct board_note){task, buf_steal(&line)});
}

static void apply_budget(struct board *b, const struct event *ev)
{
    const struct node *usd = node_get(ev->data, "budget_usd");
    if (ev->task)
        return;
    if (usd && usd->kind == NODE_REAL)
        b->budget.usd = usd->real;
    b->budget.tokens = node_get_int(ev->data, "budget_tokens", b->budget.tokens);
}

static void apply_run_event(struct board *b, const struct event *ev)
{
    if (ev->kind == EV_RUN_STARTED || ev->kind == EV_RUN_RESUMED)
        b->finished = 0, b->paused = false;
    if (ev->kind == EV_RUN_RESUMED)
        idle_note(&b->idle, ev->time, ev->data);
    if (ev->kind == EV_RUN_PAUSED)
        b->paused = true;
    if (ev->kind == EV_RUN_WORKERS)
        b->workers = node_get_int(ev->data, "workers", b->workers);
    if (ev->kind == EV_RUN_FINISHED)
        b->finished = ev->time;
    if (ev->kind == EV_BUDGET_RAISED)
        apply_budget(b, ev);
    if (ev->kind == EV_LIMIT_OPENED)
        limits_opened(&b->limits, ev->data, ev->time);
    if (ev->kind == EV_LIMIT_CLOSED)
        limits_closed(&b->limits, ev->data);
}

void board_event(struct board *b, const struct event *ev)
{
    const struct task *task = ev->task ? plan_find(b->plan, ev->task) : NULL;
    if (!b->started)
        b->started = ev->time;
    if (task)
        apply_task_event(&b->tasks[task->index], ev);
    apply_run_event(b, ev);
    add_note(b, ev, task ? (int64_t)task->index : -1);
}

void board_row(struct board *b, const struct store_task *row)
{
    const struct task *task = plan_find(b->plan, row->id);
    if (!task)
        return;
    struct board_task *t = &b->tasks[task->index];
    t->state = task_state_find(row->state, t->state);
    t->started = row->started;
    t->finished = row->finished;
    t->attempt = row->attempts;
    int64_t tokens = row->tokens_in + row->tokens_out; /* events may be ahead of the row */
    t->tokens = tokens > t->tokens ? tokens : t->tokens;
    t->usd = row->usd > t->usd ? row->usd : t->usd;
    replace_string(&t->engine, row->engine);
    replace_string(&t->workspace, row->workspace);
    replace_string(&t->branch, row->branch);
    replace_string(&t->start, row->start_commit);
    replace_string(&t->commit, row->commit);
}

void board_settle(struct board *b)
{
    memset(b->count, 0, sizeof(b->count));
    b->tokens = 0;
    b->usd = -1;
    for (size_t i = 0; i < b->n; i++) {
        const struct board_task *t = &b->tasks[i];
        if (!t->wanted)
            continue;
        b->count[t->state]++;
        b->tokens += t->tokens;
        if (t->usd >= 0)
            b->usd = (b->usd < 0 ? 0 : b->usd) + t->usd;
    }
}

static void add_open_dependencies(const struct board *b, uint32_t task, struct buf *out)
{
    const struct task *t = &b->plan->tasks[task];
    size_t shown = 0;
    for (size_t k = 0; k < t->dep_count; k++) {
        const struct board_task *dep = &b->tasks[t->deps[k]];
        if (!dep->wanted || dep->state == TASK_LANDED || dep->state == TASK_DONE)
            continue;
        buf_addf(out, "%s%s", shown++ ? ", " : "needs ", dep->id);
    }
}

void board_why(const struct board *b, uint32_t task, int64_t now, struct buf *out)
{
    const struct board_task *t = &b->tasks[task];
    if (t->resume) {
        buf_addstr(out, "resumes in ");
        text_format_seconds(out, t->resume - now + 999);
        buf_addf(out, "%s%s", t->reason ? ": " : "", t->reason ? t->reason : "");
        return;
    }
    if (t->state != TASK_WAITING && t->state != TASK_READY) {
        buf_addstr(out, t->reason ? t->reason : "");
        return;
    }
    size_t start = out->len;
    add_open_dependencies(b, task, out);
    if (out->len == start && b->live)
        buf_addstr(out, b->paused ? "the run is paused" : "waits for a worker");
}
