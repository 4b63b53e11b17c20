/*
 * The states of a task, and their names in the store, in events and for people.
 */
#ifndef PLAN_ENGINE_TASK_STATE_H
#define PLAN_ENGINE_TASK_STATE_H

enum task_state {
    TASK_WAITING,
    TASK_READY,
    TASK_PREPARING,
    TASK_RUNNING,
    TASK_COMMITTING,
    TASK_VERIFYING,
    TASK_LANDING,
    TASK_LANDED,
    TASK_DONE, /* a task ended well with nothing to land */
    TASK_FAILED,
    TASK_CONFLICTED,
    TASK_SKIPPED,
    TASK_STATE_COUNT_,
};

const char *task_state_name(enum task_state state);

/* The state with this name, or `otherwise`. */
enum task_state task_state_find(const char *name, enum task_state otherwise);

#endif
