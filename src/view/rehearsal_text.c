#include "view/rehearsal_text.h"

#include "base/text/text.h"

#include <string.h>

void rehearsal_clock_event(void *ctx, const struct event *ev)
{
    struct rehearsal_clock *clock = ctx;
    if (clock->last) {
        int64_t passed = ev->time - clock->last;
        clock->total += passed;
        clock->machinery += clock->agents ? 0 : passed;
    }
    clock->last = ev->time;
    if (ev->kind == EV_TASK_STARTED)
        clock->agents++;
    else if (ev->kind == EV_TASK_EXITED && clock->agents)
        clock->agents--;
}

static const char *get_outcome_text(enum task_state state)
{
    static const char *const texts[TASK_STATE_COUNT_] = {
        [TASK_LANDED] = "would land",        [TASK_DONE] = "would be done",
        [TASK_FAILED] = "would fail",        [TASK_CONFLICTED] = "would not land",
        [TASK_SKIPPED] = "would be skipped",
    };
    return texts[state] ? texts[state] : "would not start";
}

static void add_task(struct buf *out, const char *id, size_t width, const struct task_status *s)
{
    buf_addf(out, "  %-*s  %s", (int)width, id, get_outcome_text(s->state));
    bool bad = s->state == TASK_FAILED || s->state == TASK_CONFLICTED || s->state == TASK_SKIPPED;
    if (s->state == TASK_FAILED)
        buf_addf(out, ": %s", failure_names[s->failure]);
    if (bad && s->reason)
        text_addf(out, ": %s", s->reason);
    buf_addch(out, '\n');
}

static void add_counts(struct buf *out, const struct run *run, size_t total)
{
    struct run_result r = run_result(run);
    if (r.landed || !r.done) {
        buf_addf(out, "%zu of %zu tasks would land", r.landed, total);
        if (run_base(run))
            buf_addf(out, " on %s", run_base(run));
    }
    if (r.done)
        buf_addf(out, "%s%zu of %zu would be done", r.landed ? ", " : "", r.done, total);
    buf_addch(out, '\n');
}

static void add_time(struct buf *out, const struct rehearsal_clock *clock)
{
    buf_addstr(out, "anabranch itself took ");
    text_format_duration(out, clock->machinery);
    buf_addstr(out, " of ");
    text_format_duration(out, clock->total);
    buf_addstr(out, "; agents were running the rest of the time\n");
}

void rehearsal_text(const struct rehearsal *r, const struct run *run, const struct plan_file *pf,
                    const struct rehearsal_clock *clock, struct buf *out)
{
    const struct plan *plan = &pf->plan;
    size_t width = 4;
    for (size_t t = 0; t < plan->task_count; t++)
        width = strlen(plan->tasks[t].id) > width ? strlen(plan->tasks[t].id) : width;
    for (uint32_t t = 0; t < plan->task_count; t++) {
        struct task_status s = run_task(run, t);
        add_task(out, plan->tasks[t].id, width, &s);
    }
    add_counts(out, run, plan->task_count);
    add_time(out, clock);
    if (r->commands_left_out)
        buf_addstr(out, "The plan's commands were not run; use --with-commands to run them\n");
}
