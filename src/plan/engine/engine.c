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
    engine_handler *handle;
    unsigned parts; /* enum event_parts */
    enum life_event life;
} table[ENGINE_EVENT_COUNT_] = {
    [ENGINE_LANDS_NEXT] = {"lands-next", engine_land_next, IS_QUESTION},
    [ENGINE_ABANDONS_NEXT] = {"abandons-next", engine_abandon_next, IS_QUESTION},
    [ENGINE_STARTS_NEXT] = {"starts-next", engine_start_next, IS_QUESTION},
    [ENGINE_PUBLISH_DUE] = {"publish-due", engine_publish_due, IS_QUESTION | WITH_NOW | WITH_INDEX},
    [ENGINE_TURN_ENDED] = {"turn-ended", engine_end_turn, IS_QUESTION | WITH_FACTS},

    [ENGINE_INTERRUPTED] = {"interrupted", engine_interrupt, 0},
    [ENGINE_BROKE] = {"broke", engine_break, 0},
    [ENGINE_DRAINED] = {"drained", drain_run, 0},
    [ENGINE_PAUSED] = {"paused", pause_or_continue, 0},
    [ENGINE_CONTINUED] = {"continued", pause_or_continue, 0},
    [ENGINE_WORKERS_SET] = {"workers-set", set_workers, WITH_WORKERS},
    [ENGINE_WORK_BEGAN] = {"work-began", count_work, 0},
    [ENGINE_WORK_ENDED] = {"work-ended", count_work, 0},
    [ENGINE_TIP_MOVED] = {"tip-moved", move_tip, 0},
    [ENGINE_PUBLISHED] = {"published", engine_end_publication, WITH_NOW},
    [ENGINE_PUBLISHED_LAST] = {"published-last", engine_end_last_publication, WITH_FACTS},
    [ENGINE_RECORDED] = {"recorded", engine_record, 0},
    [ENGINE_CLOSED] = {"closed", engine_record, 0},

    [ENGINE_LIMIT_SEEN] = {"limit-seen", engine_see_limit,
                           OF_TASK | WITH_NOW | WITH_RANDOM | WITH_RESET},
    [ENGINE_LIMIT_RECALLED] = {"limit-recalled", engine_recall_limit,
                               OF_TASK | WITH_NOW | WITH_RANDOM | WITH_RESET},
    [ENGINE_AGENT_SPOKE] = {"agent-spoke", engine_hear_agent,
                            IS_QUESTION | OF_TASK | WITH_NOW | WITH_RANDOM},
    [ENGINE_LANE_DUE] = {"lane-due", engine_wake_lane, WITH_NOW | WITH_RANDOM | WITH_LANE},
    [ENGINE_USED] = {"used", engine_use, IS_QUESTION | OF_TASK | WITH_USAGE},
    [ENGINE_USAGE_RECALLED] = {"usage-recalled", engine_recall_usage, 0},
    [ENGINE_BUDGET_RAISED] = {"budget-raised", engine_raise_budget, OF_TASK_OR_RUN | WITH_BUDGET},

    [ENGINE_ATTEMPT_OPENED] = {"attempt-opened", engine_open_attempt, OF_TASK},
    [ENGINE_ATTEMPT_CLOSED] = {"attempt-closed", engine_close_attempt, OF_TASK},
    [ENGINE_WORKSPACE_READY] = {"workspace-ready", engine_next_step, OF_TASK},
    [ENGINE_AGENT_STARTED] = {"agent-started", engine_start_agent, OF_TASK},
    [ENGINE_WORKER_FREED] = {"worker-freed", free_worker, OF_TASK},
    [ENGINE_FINISHED] = {"finished", engine_finish_agent, OF_TASK},
    [ENGINE_NOTHING_TO_LAND] = {"nothing-to-land", engine_next_step, OF_TASK},
    [ENGINE_WORKSPACE_MADE] = {"workspace-made", end_conflict, OF_TASK},
    [ENGINE_COMPARED] = {"compared", set_reverts, OF_TASK | WITH_YES},
    [ENGINE_COMMITTED] = {"committed", end_conflict, OF_TASK},
    [ENGINE_QUEUED] = {"queued", engine_queue, OF_TASK},
    [ENGINE_UNQUEUED] = {"unqueued", leave_queue, OF_TASK},
    [ENGINE_MERGED] = {"merged", merge_commit, OF_TASK},
    [ENGINE_VERIFYING] = {"verifying", NULL, OF_TASK, LIFE_MERGED},
    [ENGINE_LANDED] = {"landed", engine_land, OF_TASK},
    [ENGINE_LANDING_FAILED] = {"landing-failed", engine_unland, 0},
    [ENGINE_LANDING_RECORDED] = {"landing-recorded", NULL, OF_TASK, LIFE_LANDED},
    [ENGINE_UNCHANGED] = {"unchanged", NULL, OF_TASK, LIFE_UNCHANGED},
    [ENGINE_CONFLICT_FOUND] = {"conflict-found", engine_find_conflict, OF_TASK},
    [ENGINE_CONFLICTED] = {"conflicted", engine_leave_conflict, OF_TASK},
    [ENGINE_FAILURE_FOUND] = {"failure-found", engine_next_step, OF_TASK},
    [ENGINE_LIMIT_MET] = {"limit-met", engine_meet_limit,
                          OF_TASK | WITH_NOW | WITH_RANDOM | WITH_LIMIT},
    [ENGINE_ATTEMPT_FAILED] = {"attempt-failed", engine_fail_attempt,
                               OF_TASK | WITH_RANDOM | WITH_FAILURE},
    [ENGINE_FAILURE_CARRIED_OUT] = {"failure-carried-out", engine_settle_failure,
                                    OF_TASK | WITH_OUTCOME},
    [ENGINE_FAILED] = {"failed", NULL, OF_TASK, LIFE_FAILED},
    [ENGINE_SESSION_KEPT] = {"session-kept", engine_keep_session, OF_TASK | WITH_YES},
    [ENGINE_WAITS] = {"waits", NULL, OF_TASK, LIFE_WAITS},
    [ENGINE_WAITS_FOR_TIME] = {"waits-for-time", engine_wait, OF_TASK},
    [ENGINE_PARKED] = {"parked", engine_park, OF_TASK},
    [ENGINE_DUE] = {"due", engine_retry_due, OF_TASK},
    [ENGINE_READY] = {"ready", make_ready, OF_TASK},
    [ENGINE_HELD] = {"held", hold_task, OF_TASK},
    [ENGINE_ENDED] = {"ended", engine_end, OF_TASK},

    [ENGINE_SKIPPED] = {"skipped", engine_skip, OF_TASK},
    [ENGINE_WAIT_STOPPED] = {"wait-stopped", engine_stop_wait, OF_TASK},
    [ENGINE_RESTARTED] = {"restarted", engine_restart, OF_TASK},
    [ENGINE_RESTARTED_FRESH] = {"restarted-fresh", engine_restart_fresh, OF_TASK | WITH_YES},
    [ENGINE_TAKEN_BACK] = {"taken-back", engine_take_back, OF_TASK},
    [ENGINE_MESSAGE_WAITS] = {"message-waits", note_message, OF_TASK},
    [ENGINE_MESSAGE_TOLD] = {"message-told", note_message, OF_TASK},
    [ENGINE_REPAIR_BEGAN] = {"repair-began", engine_begin_repair, OF_TASK},
    [ENGINE_FOLLOW_UP_BEGAN] = {"follow-up-began", begin_follow_up, OF_TASK | WITH_YES},
    [ENGINE_FOLLOW_UP_FAILED] = {"follow-up-failed", fail_follow_up, OF_TASK},
    [ENGINE_LANDING_STANDS] = {"landing-stands", engine_let_landing_stand, OF_TASK},
    [ENGINE_SESSION_RESUMED] = {"session-resumed", engine_resume_session, OF_TASK | WITH_NEXT},

    [ENGINE_FOUND] = {"found", engine_find, OF_TASK | WITH_FOUND},
    [ENGINE_FORGOTTEN] = {"forgotten", engine_forget, OF_TASK},
    [ENGINE_STARTS_AT_TIP] = {"starts-at-tip", start_at_tip, OF_TASK},
    [ENGINE_LANDS_AGAIN] = {"lands-again", engine_land_again, OF_TASK},
    [ENGINE_NEEDS_WORKSPACE] = {"needs-workspace", engine_need_workspace, OF_TASK},
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
