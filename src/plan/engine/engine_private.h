/*
 * The handlers of events: each changes the engine, and appends actions. engine.c has the table.
 */
#ifndef PLAN_ENGINE_ENGINE_PRIVATE_H
#define PLAN_ENGINE_ENGINE_PRIVATE_H

#include "plan/engine/engine.h"

/* The members of struct engine_event that an event uses, beside its kind. The journal has these and
 * no others (engine_line.c). */
enum event_parts {
    OF_TASK = 1 << 0,
    OF_TASK_OR_RUN = 1 << 1, /* task -1: the run. The other events are always about the run */
    WITH_NOW = 1 << 2,
    WITH_RANDOM = 1 << 3,
    WITH_YES = 1 << 4,
    WITH_WORKERS = 1 << 5,
    WITH_LANE = 1 << 6,
    WITH_INDEX = 1 << 7,
    WITH_RESET = 1 << 8,
    WITH_FACTS = 1 << 9,
    WITH_USAGE = 1 << 10,
    WITH_BUDGET = 1 << 11,
    WITH_LIMIT = 1 << 12,
    WITH_FAILURE = 1 << 13,
    WITH_OUTCOME = 1 << 14, /* and the class */
    WITH_NEXT = 1 << 15,
    WITH_FOUND = 1 << 16,
    IS_QUESTION = 1 << 17, /* without an answer it mostly changes nothing */
};

unsigned engine_event_parts(enum engine_event_kind kind);

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
