/*
 * One attempt of a task: it opens, lands or fails, and closes.
 */
#include "plan/engine/engine_private.h"

void engine_open_attempt(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    t->counted = (struct spent){0};
    t->reverts = false;
    e->attempts++;
}

void engine_close_attempt(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    lanes_leave(&e->lanes, task_of_event(ev));
    e->attempts--;
}

/* One step always follows another. */
void engine_next_step(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)e;
    enum action_kind next = ev->kind == ENGINE_WORKSPACE_READY   ? DO_RUN_AGENT
                            : ev->kind == ENGINE_NOTHING_TO_LAND ? DO_END_UNLANDED
                                                                 : DO_SAVE;
    vec_push(&ret->list, (struct action){.kind = next, .task = ev->task});
}

/* Its prompt has the message. In a conflict, ENGINE_MESSAGE_TOLD says that. */
void engine_start_agent(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    t->has_message = t->has_message && t->in_conflict;
    engine_advance(e, ev, LIFE_STARTED, ret);
}

void engine_finish_agent(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    size_t before = ret->list.n;
    engine_advance(e, ev, LIFE_FINISHED, ret);
    if (ret->list.n == before)
        vec_push(&ret->list, (struct action){.kind = DO_COMMIT, .task = ev->task});
}

void engine_queue(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    size_t before = ret->list.n;
    engine_advance(e, ev, LIFE_QUEUED, ret);
    if (ret->list.n == before)
        landing_queue(&e->landing, task_of_event(ev));
}

void engine_land(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    e->tip++;
    landing_land(&e->landing, task_of_event(ev));
}

void engine_unland(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ev;
    e->tip++;
    vec_push(&ret->list, (struct action){.kind = DO_TAKE_BACK, .task = landing_undo(&e->landing)});
}

void engine_find_conflict(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct retries retries = engine_retries(e, task_of_event(ev));
    enum outcome_kind outcome =
        failure_of_conflict(engine_is_ending(e), engine_task(e, ev)->in_conflict, &retries);
    bool leaves = outcome == OUTCOME_LEAVE_CONFLICT;
    vec_push(&ret->list, (struct action){.kind = leaves ? DO_LEAVE_CONFLICT : DO_FAIL_CONFLICT,
                                         .task = ev->task,
                                         .yes = outcome == OUTCOME_RETRY});
}

void engine_fail_attempt(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct retries retries = engine_retries(e, task_of_event(ev));
    struct failure_facts facts = ev->failure;
    facts.run_ends = engine_is_ending(e);
    facts.in_conflict = engine_task(e, ev)->in_conflict;
    vec_push(&ret->list, (struct action){.kind = DO_END_ATTEMPT,
                                         .task = ev->task,
                                         .outcome = failure_outcome(&facts, &retries, ev->random)});
}

void engine_settle_failure(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    t->repair = ev->outcome.repair;
    t->in_conflict = t->in_conflict || ev->outcome.repair == REPAIR_CONFLICT;
    t->start_at_tip = t->start_at_tip || ev->outcome.at_tip;
    t->retries_used[ev->class] += ev->outcome.uses_retry;
}

/* A session belongs to one engine and one account, so the next attempt has the same lane. */
void engine_keep_session(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->start = ev->yes ? START_RESTORED : START_RESUMED;
    lanes_keep(&e->lanes, task_of_event(ev));
}

void engine_leave_conflict(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    engine_task(e, ev)->in_conflict = false;
    engine_advance(e, ev, LIFE_CONFLICTED, ret);
}
