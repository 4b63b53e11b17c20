/*
 * The phases of a run: what the run does next, and what a request to stop means.
 */
#ifndef PLAN_ENGINE_RUN_PHASE_H
#define PLAN_ENGINE_RUN_PHASE_H

#include <stdbool.h>
#include <stddef.h>

enum run_phase {
    RUN_WORKING,    /* tasks start, run and land */
    RUN_PUBLISHING, /* the base moves to the tip one last time, unless a user adds work meanwhile */
    RUN_OVER,       /* nothing is left to do: the result is final and we record it */
    RUN_FINISHING,  /* the result is recorded; observers still have open work */
    RUN_CLOSED,
};

struct run_facts {
    enum run_phase phase;
    size_t attempts;       /* open attempts and deletions */
    size_t tasks_left;     /* tasks that have not ended */
    bool draining;         /* start nothing new, but let attempts end */
    bool stopping;         /* a user stopped the run */
    bool failed;           /* the program itself cannot continue */
    bool paused;           /* start nothing until a user continues the run */
    bool has_base;         /* the run lands on a branch */
    bool publication_busy; /* the base is being moved */
    bool pool_filled;      /* unused work trees are left */
    bool observers_busy;   /* an observer has open work */
};

enum run_step {
    RUN_START_TASKS, /* if the scheduler has one */
    RUN_WAIT,
    RUN_EMPTY_POOL, /* delete unused work trees; this adds work */
    RUN_PUBLISH,
    RUN_FINISH, /* the work is over */
    RUN_CLOSE,  /* nobody has open work */
};

enum run_step run_phase_next(const struct run_facts *facts);

enum run_interrupt {
    RUN_STOP_AGENTS, /* ask them to end, and save their work */
    RUN_KILL_AGENTS, /* and end every wait for others */
    RUN_GIVE_UP,     /* do not wait for observers any longer */
};

/* Decides what a signal means, or a request to stop the whole run. */
enum run_interrupt run_phase_interrupt(enum run_phase phase, bool stopping);

#endif
