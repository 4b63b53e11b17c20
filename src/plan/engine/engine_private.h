/*
 * The handlers of events: each changes the engine, and appends actions. engine.c has the table.
 */
#ifndef PLAN_ENGINE_ENGINE_PRIVATE_H
#define PLAN_ENGINE_ENGINE_PRIVATE_H

#include "plan/engine/engine.h"

typedef void engine_handler(struct engine *e, const struct engine_event *ev, struct actions *ret);

static inline struct engine_task *engine_task(struct engine *e, const struct engine_event *ev)
{
    return &e->tasks[ev->task];
}

static inline uint32_t task_of_event(const struct engine_event *ev)
{
    return (uint32_t)ev->task;
}

/* Changes the state of the task by the table of its life; refuses an event that has no row. */
void engine_advance(struct engine *e, const struct engine_event *ev, enum life_event life,
                    struct actions *ret);

/* engine_turn.c */
engine_handler engine_land_next, engine_abandon_next, engine_start_next, engine_publish_due,
    engine_end_turn, engine_end_last_publication, engine_end_publication, engine_interrupt,
    engine_break, engine_record;

/* engine_limits.c */
engine_handler engine_see_limit, engine_recall_limit, engine_hear_agent, engine_wake_lane,
    engine_meet_limit, engine_use, engine_recall_usage, engine_raise_budget;

/* engine_attempt.c */
engine_handler engine_open_attempt, engine_close_attempt, engine_next_step, engine_start_agent,
    engine_finish_agent, engine_queue, engine_land, engine_unland, engine_find_conflict,
    engine_fail_attempt, engine_settle_failure, engine_keep_session, engine_leave_conflict;

/* engine_rework.c */
engine_handler engine_end, engine_skip, engine_wait, engine_park, engine_retry_due,
    engine_stop_wait, engine_restart, engine_restart_fresh, engine_take_back, engine_begin_repair,
    engine_let_landing_stand, engine_resume_session, engine_find, engine_forget, engine_land_again,
    engine_need_workspace;

#endif
