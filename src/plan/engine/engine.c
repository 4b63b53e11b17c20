#include "plan/engine/engine.h"

#include "base/mem.h"
#include "plan/engine/engine_private.h"

#include <stdlib.h>
#include <string.h>

void engine_init(struct engine *e, const struct plan *plan, bool no_wait)
{
    *e = (struct engine){.plan = plan,
                         .tasks = mem_array(plan->task_count, sizeof(*e->tasks)),
                         .tip = 1,
                         .no_wait = no_wait};
    budgets_init(&e->budgets, plan);
}

void engine_done(struct engine *e)
{
    lanes_done(&e->lanes);
    budgets_done(&e->budgets);
    sched_done(&e->sched);
    landing_done(&e->landing);
    free(e->tasks);
    *e = (struct engine){0};
}

void engine_schedule(struct engine *e, struct graph *graph, struct claims *claims, size_t workers,
                     const bool *wanted)
{
    sched_init(&e->sched, e->plan, graph, claims, workers, wanted);
    landing_init(&e->landing, e->plan, graph, wanted);
}

void engine_make_lanes(struct engine *e, size_t n)
{
    lanes_init(&e->lanes, &e->sched, n);
}

void engine_set_lanes(struct engine *e, uint32_t task, int32_t lane, int32_t fallback)
{
    e->tasks[task].lane = lane;
    e->tasks[task].fallback_lane = fallback;
    lanes_assign(&e->lanes, task, lane, fallback);
}

bool engine_is_draining(const struct engine *e)
{
    return e->draining || e->budgets.run.exceeded;
}

bool engine_is_ending(const struct engine *e)
{
    return e->stopping || e->failed;
}

bool engine_can_publish(const struct engine *e)
{
    return e->landing.unpublished.n && !e->publishing;
}

struct retries engine_retries(const struct engine *e, uint32_t task)
{
    const struct engine_task *t = &e->tasks[task];
    struct retries r = {
        .plan = &e->plan->tasks[task].retry,
        .no_wait = e->no_wait,
        .reverts = t->reverts,
        .budget_spent = budgets_are_spent(&e->budgets, task),
    };
    memcpy(r.used, t->retries_used, sizeof(r.used));
    return r;
}

void engine_advance(struct engine *e, const struct engine_event *ev, enum life_event life,
                    struct actions *ret)
{
    if (!task_life_advance(&engine_task(e, ev)->state, life))
        vec_push(&ret->list, (struct action){.kind = DO_REFUSE, .task = ev->task});
}

/* The simplest events set one member. */

static void drain_run(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ev, (void)ret;
    e->draining = true;
}

static void pause_or_continue(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    e->paused = ev->kind == ENGINE_PAUSED;
}

static void set_workers(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    e->sched.workers = ev->workers;
}

static void count_work(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    e->attempts += ev->kind == ENGINE_WORK_BEGAN ? 1 : (size_t)-1;
}

static void move_tip(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ev, (void)ret;
    e->tip++;
}

static void free_worker(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    sched_set_aside(&e->sched, task_of_event(ev));
}

static void make_ready(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    sched_ready(&e->sched, task_of_event(ev));
}

static void hold_task(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    sched_hold(&e->sched, task_of_event(ev));
}

static void set_reverts(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->reverts = ev->yes;
}

static void end_conflict(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->in_conflict = false;
}

static void merge_commit(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->merged_tip = e->tip;
}

static void leave_queue(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    (void)landing_leave(&e->landing, task_of_event(ev));
}

static void note_message(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->has_message = ev->kind == ENGINE_MESSAGE_WAITS;
}

static void begin_follow_up(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->follows_landing = ev->yes;
    engine_task(e, ev)->follow_up_failed = false;
}

static void fail_follow_up(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->follow_up_failed = true;
}

static void start_at_tip(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->start_at_tip = true;
}

/* An event either has a handler, or only moves its task to the next state. Its name also stands in
 * the journals of runs: never change it. */
static const struct {
    const char *name;
    unsigned parts; /* enum event_parts */
    engine_handler *handle;
    enum life_event life;
} table[ENGINE_EVENT_COUNT_] = {
    [ENGINE_LANDS_NEXT] = {"lands-next", IS_QUESTION, engine_land_next},
    [ENGINE_ABANDONS_NEXT] = {"abandons-next", IS_QUESTION, engine_abandon_next},
    [ENGINE_STARTS_NEXT] = {"starts-next", IS_QUESTION, engine_start_next},
    [ENGINE_PUBLISH_DUE] = {"publish-due", IS_QUESTION | WITH_NOW | WITH_INDEX, engine_publish_due},
    [ENGINE_TURN_ENDED] = {"turn-ended", IS_QUESTION | WITH_FACTS, engine_end_turn},

    [ENGINE_INTERRUPTED] = {"interrupted", 0, engine_interrupt},
    [ENGINE_BROKE] = {"broke", 0, engine_break},
    [ENGINE_DRAINED] = {"drained", 0, drain_run},
    [ENGINE_PAUSED] = {"paused", 0, pause_or_continue},
    [ENGINE_CONTINUED] = {"continued", 0, pause_or_continue},
    [ENGINE_WORKERS_SET] = {"workers-set", WITH_WORKERS, set_workers},
    [ENGINE_WORK_BEGAN] = {"work-began", 0, count_work},
    [ENGINE_WORK_ENDED] = {"work-ended", 0, count_work},
    [ENGINE_TIP_MOVED] = {"tip-moved", 0, move_tip},
    [ENGINE_PUBLISHED] = {"published", WITH_NOW, engine_end_publication},
    [ENGINE_PUBLISHED_LAST] = {"published-last", WITH_FACTS, engine_end_last_publication},
    [ENGINE_RECORDED] = {"recorded", 0, engine_record},
    [ENGINE_CLOSED] = {"closed", 0, engine_record},

    [ENGINE_LIMIT_SEEN] = {"limit-seen", OF_TASK | WITH_NOW | WITH_RANDOM | WITH_RESET,
                           engine_see_limit},
    [ENGINE_LIMIT_RECALLED] = {"limit-recalled", OF_TASK | WITH_NOW | WITH_RANDOM | WITH_RESET,
                               engine_recall_limit},
    [ENGINE_AGENT_SPOKE] = {"agent-spoke", IS_QUESTION | OF_TASK | WITH_NOW | WITH_RANDOM,
                            engine_hear_agent},
    [ENGINE_LANE_DUE] = {"lane-due", WITH_NOW | WITH_RANDOM | WITH_LANE, engine_wake_lane},
    [ENGINE_USED] = {"used", IS_QUESTION | OF_TASK | WITH_USAGE, engine_use},
    [ENGINE_USAGE_RECALLED] = {"usage-recalled", 0, engine_recall_usage},
    [ENGINE_BUDGET_RAISED] = {"budget-raised", OF_TASK_OR_RUN | WITH_BUDGET, engine_raise_budget},

    [ENGINE_ATTEMPT_OPENED] = {"attempt-opened", OF_TASK, engine_open_attempt},
    [ENGINE_ATTEMPT_CLOSED] = {"attempt-closed", OF_TASK, engine_close_attempt},
    [ENGINE_WORKSPACE_READY] = {"workspace-ready", OF_TASK, engine_next_step},
    [ENGINE_AGENT_STARTED] = {"agent-started", OF_TASK, engine_start_agent},
    [ENGINE_WORKER_FREED] = {"worker-freed", OF_TASK, free_worker},
    [ENGINE_FINISHED] = {"finished", OF_TASK, engine_finish_agent},
    [ENGINE_NOTHING_TO_LAND] = {"nothing-to-land", OF_TASK, engine_next_step},
    [ENGINE_WORKSPACE_MADE] = {"workspace-made", OF_TASK, end_conflict},
    [ENGINE_COMPARED] = {"compared", OF_TASK | WITH_YES, set_reverts},
    [ENGINE_COMMITTED] = {"committed", OF_TASK, end_conflict},
    [ENGINE_QUEUED] = {"queued", OF_TASK, engine_queue},
    [ENGINE_UNQUEUED] = {"unqueued", OF_TASK, leave_queue},
    [ENGINE_MERGED] = {"merged", OF_TASK, merge_commit},
    [ENGINE_VERIFYING] = {"verifying", OF_TASK, .life = LIFE_MERGED},
    [ENGINE_LANDED] = {"landed", OF_TASK, engine_land},
    [ENGINE_LANDING_FAILED] = {"landing-failed", 0, engine_unland},
    [ENGINE_LANDING_RECORDED] = {"landing-recorded", OF_TASK, .life = LIFE_LANDED},
    [ENGINE_UNCHANGED] = {"unchanged", OF_TASK, .life = LIFE_UNCHANGED},
    [ENGINE_CONFLICT_FOUND] = {"conflict-found", OF_TASK, engine_find_conflict},
    [ENGINE_CONFLICTED] = {"conflicted", OF_TASK, engine_leave_conflict},
    [ENGINE_FAILURE_FOUND] = {"failure-found", OF_TASK, engine_next_step},
    [ENGINE_LIMIT_MET] = {"limit-met", OF_TASK | WITH_NOW | WITH_RANDOM | WITH_LIMIT,
                          engine_meet_limit},
    [ENGINE_ATTEMPT_FAILED] = {"attempt-failed", OF_TASK | WITH_RANDOM | WITH_FAILURE,
                               engine_fail_attempt},
    [ENGINE_FAILURE_CARRIED_OUT] = {"failure-carried-out", OF_TASK | WITH_OUTCOME,
                                    engine_settle_failure},
    [ENGINE_FAILED] = {"failed", OF_TASK, .life = LIFE_FAILED},
    [ENGINE_SESSION_KEPT] = {"session-kept", OF_TASK | WITH_YES, engine_keep_session},
    [ENGINE_WAITS] = {"waits", OF_TASK, .life = LIFE_WAITS},
    [ENGINE_WAITS_FOR_TIME] = {"waits-for-time", OF_TASK, engine_wait},
    [ENGINE_PARKED] = {"parked", OF_TASK, engine_park},
    [ENGINE_DUE] = {"due", OF_TASK, engine_retry_due},
    [ENGINE_READY] = {"ready", OF_TASK, make_ready},
    [ENGINE_HELD] = {"held", OF_TASK, hold_task},
    [ENGINE_ENDED] = {"ended", OF_TASK, engine_end},

    [ENGINE_SKIPPED] = {"skipped", OF_TASK, engine_skip},
    [ENGINE_WAIT_STOPPED] = {"wait-stopped", OF_TASK, engine_stop_wait},
    [ENGINE_RESTARTED] = {"restarted", OF_TASK, engine_restart},
    [ENGINE_RESTARTED_FRESH] = {"restarted-fresh", OF_TASK | WITH_YES, engine_restart_fresh},
    [ENGINE_TAKEN_BACK] = {"taken-back", OF_TASK, engine_take_back},
    [ENGINE_MESSAGE_WAITS] = {"message-waits", OF_TASK, note_message},
    [ENGINE_MESSAGE_TOLD] = {"message-told", OF_TASK, note_message},
    [ENGINE_REPAIR_BEGAN] = {"repair-began", OF_TASK, engine_begin_repair},
    [ENGINE_FOLLOW_UP_BEGAN] = {"follow-up-began", OF_TASK | WITH_YES, begin_follow_up},
    [ENGINE_FOLLOW_UP_FAILED] = {"follow-up-failed", OF_TASK, fail_follow_up},
    [ENGINE_LANDING_STANDS] = {"landing-stands", OF_TASK, engine_let_landing_stand},
    [ENGINE_SESSION_RESUMED] = {"session-resumed", OF_TASK | WITH_NEXT, engine_resume_session},

    [ENGINE_FOUND] = {"found", OF_TASK | WITH_FOUND, engine_find},
    [ENGINE_FORGOTTEN] = {"forgotten", OF_TASK, engine_forget},
    [ENGINE_STARTS_AT_TIP] = {"starts-at-tip", OF_TASK, start_at_tip},
    [ENGINE_LANDS_AGAIN] = {"lands-again", OF_TASK, engine_land_again},
    [ENGINE_NEEDS_WORKSPACE] = {"needs-workspace", OF_TASK, engine_need_workspace},
};

const char *engine_event_name(enum engine_event_kind kind)
{
    return table[kind].name;
}

unsigned engine_event_parts(enum engine_event_kind kind)
{
    return table[kind].parts;
}

void engine_event(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    if (table[ev->kind].handle)
        table[ev->kind].handle(e, ev, ret);
    else
        engine_advance(e, ev, table[ev->kind].life, ret);
}
