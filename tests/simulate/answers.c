/*
 * Reports events to the engine, and carries out its actions in the model of the shell.
 */
#include "shell.h"

#include <string.h>

void tell_kind(struct world *w, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = -1};
    tell(w, &ev);
}

void tell_task(struct world *w, uint32_t task, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = task};
    tell(w, &ev);
}

void tell_if(struct world *w, uint32_t task, enum engine_event_kind kind, bool yes)
{
    const struct engine_event ev = {.kind = kind, .task = task, .yes = yes};
    tell(w, &ev);
}

uint32_t random_number(struct world *w)
{
    return (uint32_t)pick(w, 1U << 30) * 4U;
}

static void carry_out(struct world *w, const struct action *a)
{
    switch (a->kind) {
    case DO_PUBLISH:
        w->publishing = true;
        w->moves_base = a->yes;
        break;
    case DO_PUBLISH_LATER:
        if (w->publish_due < 0)
            w->publish_due = w->now + a->ms;
        break;
    case DO_PUBLISH_LAST:
        w->publishing_last = true;
        break;
    case DO_EMPTY_POOL:
        w->pool = false;
        break;
    case DO_FINISH:
        w->over = true;
        break;
    case DO_WAKE_LANE:
        w->lane_due[a->lane] = w->now + a->ms;
        break;
    case DO_WAKE:
    case DO_REPORT_BUDGET:
    case DO_STOP_FOR_RUN:
        w->wakes = true;
        break;
    case DO_STOP_AGENTS:
        for (uint32_t t = 0; t < w->plan.task_count; t++)
            w->jobs[t].stopped = true;
        break;
    case DO_SKIP:
        if (w->jobs[a->task].stage != STAGE_IDLE)
            broken(w, "t%d is skipped while it has an attempt", (int)a->task);
        w->jobs[a->task].stage = STAGE_ENDED;
        break;
    case DO_UNSKIP:
        w->jobs[a->task].stage = STAGE_IDLE;
        break;
    case DO_STOP_AGENT:
        w->jobs[a->task].stopped = true;
        break;
    case DO_CLOSE:
    case DO_KILL_AGENTS:
    case DO_GIVE_UP:
    case DO_REPORT_CLOSED:
    case DO_REPORT_OPEN:
    case DO_RECORD_USAGE:
    case DO_WARN_BUDGET:
    case DO_NOTE_OVERRUN:
    case DO_LAND:
    case DO_ABANDON:
    case DO_START:
    case DO_RUN_AGENT:
    case DO_COMMIT:
    case DO_END_UNLANDED:
    case DO_FAIL_CONFLICT:
    case DO_LEAVE_CONFLICT:
    case DO_SAVE:
    case DO_END_ATTEMPT:
    case DO_TAKE_BACK:
    case DO_REFUSE:
    case ACTION_COUNT_:
        break;
    }
}

/* Carries out the answer to the last event; these events have no other one. */
void carry_out_all(struct world *w)
{
    struct action actions[64];
    size_t n = w->actions.list.n < 64 ? w->actions.list.n : 64;
    if (n)
        memcpy(actions, w->actions.list.v, n * sizeof(actions[0]));
    for (size_t i = 0; i < n; i++)
        carry_out(w, &actions[i]);
    w->wakes = true;
}

void report(struct world *w, const struct engine_event *ev)
{
    tell(w, ev);
    carry_out_all(w);
}

void report_kind(struct world *w, enum engine_event_kind kind)
{
    tell_kind(w, kind);
    carry_out_all(w);
}

void report_task(struct world *w, uint32_t task, enum engine_event_kind kind)
{
    tell_task(w, task, kind);
    carry_out_all(w);
}

void free_worker(struct world *w, uint32_t task)
{
    w->jobs[task].holds_worker = false;
}

void close_attempt(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    report_task(w, task, ENGINE_ATTEMPT_CLOSED);
    j->workspace = j->prepared = j->stopped = false;
    j->verified_tip = j->merging_tip = 0;
}

void end_task(struct world *w, uint32_t task)
{
    free_worker(w, task);
    w->jobs[task].stage = STAGE_ENDED;
    report_task(w, task, ENGINE_ENDED);
}

/* The last event has this one answer. */
struct action take_answer(struct world *w, enum action_kind kind)
{
    if (!w->actions.list.n || w->actions.list.v[0].kind != kind)
        broken(w, "the engine does not answer with action %d", (int)kind);
    return w->actions.list.v[0];
}
