/*
 * Usage limits and budgets: what an agent met or used, and whom that stops.
 */
#include "plan/engine/engine_private.h"

static void wake_lane_later(const struct engine *e, int32_t lane, const struct engine_event *ev,
                            struct actions *ret)
{
    int64_t ms = lanes_wake_after(&e->lanes, lane, ev->now, ev->random);
    if (ms >= 0)
        vec_push(&ret->list,
                 (struct action){.kind = DO_WAKE_LANE, .task = -1, .lane = lane, .ms = ms});
}

/* A limit has closed the lane of the task, or closed it for longer. */
static void report_closed(const struct engine *e, const struct engine_event *ev, int64_t reset,
                          struct actions *ret)
{
    int32_t lane = e->lanes.used[ev->task];
    wake_lane_later(e, lane, ev, ret);
    vec_push(&ret->list, (struct action){.kind = DO_REPORT_CLOSED,
                                         .task = ev->task,
                                         .lane = lane,
                                         .reset = reset > ev->now ? reset : 0});
}

/* No other task must start in the lane while this agent ends. */
void engine_see_limit(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct retries retries = engine_retries(e, task_of_event(ev));
    if (retry_parks(&retries) &&
        lanes_meet_limit(&e->lanes, task_of_event(ev), ev->reset, ev->now, ev->random))
        report_closed(e, ev, ev->reset, ret);
}

void engine_recall_limit(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    if (!e->no_wait && lanes_recall(&e->lanes, task_of_event(ev), ev->reset, ev->now))
        report_closed(e, ev, ev->reset, ret);
}

void engine_hear_agent(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    int32_t lane = e->lanes.used[ev->task];
    if (!lanes_prove(&e->lanes, task_of_event(ev)))
        return;
    vec_push(&ret->list, (struct action){.kind = DO_REPORT_OPEN, .task = ev->task, .lane = lane});
    wake_lane_later(e, lane, ev, ret);
}

void engine_wake_lane(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    lanes_wake(&e->lanes, ev->lane, ev->now);
    wake_lane_later(e, ev->lane, ev, ret);
    vec_push(&ret->list, (struct action){.kind = DO_WAKE, .task = -1});
}

void engine_meet_limit(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    uint32_t task = task_of_event(ev);
    struct retries retries = engine_retries(e, task);
    struct limit_facts facts = ev->limit;
    facts.now = ev->now;
    facts.has_fallback = lanes_fall_back(&e->lanes, task, e->tasks[task].fallback_lane);
    struct failure_outcome outcome = failure_at_limit(&facts, &retries);
    bool closed = outcome.closes_lane &&
                  lanes_meet_limit(&e->lanes, task, facts.reset, facts.now, ev->random);
    if (outcome.kind == OUTCOME_PARK)
        outcome.delay_ms = e->lanes.list[e->lanes.used[task]].until - facts.now;
    vec_push(&ret->list, (struct action){.kind = DO_END_ATTEMPT, .task = task, .outcome = outcome});
    if (closed)
        report_closed(e, ev, facts.reset, ret);
}

static void add_budget_action(struct actions *ret, enum action_kind kind, int64_t task)
{
    vec_push(&ret->list, (struct action){.kind = kind, .task = task});
}

static void answer_for_run(const struct budget_answer *answer, struct actions *ret)
{
    if (answer->run_warned)
        add_budget_action(ret, DO_WARN_BUDGET, -1);
    if (!answer->run_exceeded)
        return;
    add_budget_action(ret, DO_REPORT_BUDGET, -1);
    add_budget_action(ret, DO_WAKE, -1);
    add_budget_action(ret, DO_STOP_FOR_RUN, -1);
}

void engine_use(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct budget_answer answer;
    if (!budgets_add(&e->budgets, task_of_event(ev), &engine_task(e, ev)->counted, &ev->usage,
                     &answer))
        return;
    add_budget_action(ret, DO_RECORD_USAGE, ev->task);
    if (answer.task_warned)
        add_budget_action(ret, DO_WARN_BUDGET, ev->task);
    if (answer.overrun)
        vec_push(
            &ret->list,
            (struct action){.kind = DO_NOTE_OVERRUN, .task = ev->task, .overrun = answer.overrun});
    if (answer.task_exceeded)
        add_budget_action(ret, DO_REPORT_BUDGET, ev->task);
    if (answer.stop)
        add_budget_action(ret, DO_STOP_AGENT, ev->task);
    answer_for_run(&answer, ret);
}

void engine_recall_usage(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct budget_answer answer = budgets_recall(&e->budgets);
    (void)ev;
    answer_for_run(&answer, ret);
}

void engine_raise_budget(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    budgets_raise(&e->budgets, ev->task, &ev->budget);
}
