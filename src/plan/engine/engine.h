/*
 * struct engine: all that a run has decided about its tasks. A pure value without time, files, git
 * or processes: the shell (src/run) reports what happened, asks what to do now, and does it. The
 * same reports lead to the same answers.
 *
 * The members are values of their own: who may start, who lands next, what a limit or a budget
 * stops. The functions here change several of them together, so that they always agree.
 */
#ifndef PLAN_ENGINE_ENGINE_H
#define PLAN_ENGINE_ENGINE_H

#include "plan/engine/attempt/failure_outcome.h"
#include "plan/engine/attempt/repair.h"
#include "plan/engine/budget.h"
#include "plan/engine/landing.h"
#include "plan/engine/lanes.h"
#include "plan/engine/publication.h"
#include "plan/engine/run_phase.h"
#include "plan/engine/task_life.h"
#include "plan/schedule/sched.h"

/* How the next attempt of a task begins. */
enum task_start {
    START_NEW,      /* in a new workspace */
    START_LANDING,  /* its work is done: it makes its workspace again, and lands */
    START_RESUMED,  /* it resumes the session of the last attempt in its workspace */
    START_RESTORED, /* the same, but it makes the workspace again */
};

/* One task, over all its attempts. */
struct engine_task {
    enum task_state state;
    enum task_start start;
    enum repair repair;               /* the kind of repair that the next attempt is */
    int retries_used[FAILURE_COUNT_]; /* by failure class */
    int32_t lane, fallback_lane;      /* the fallback serves while the other is closed; -1: none */
    uint64_t merged_tip;   /* the number of the tip with which its commit is merged; 0: none */
    bool reverts;          /* the last attempt would have undone landed work of others */
    bool parked;           /* it waits until its lane opens again */
    bool in_conflict;      /* its agent resolves the conflict between its commit and the tip */
    bool has_message;      /* a message from a person waits for its agent */
    bool start_at_tip;     /* it landed before, or conflicted */
    bool follows_landing;  /* a person resumed its agent after it landed */
    bool follow_up_failed; /* ... and that work failed */
};

struct engine {
    const struct plan *plan;
    struct engine_task *tasks;
    struct sched sched;
    struct lanes lanes;
    struct budgets budgets;
    struct landing landing;
    struct publication publication;
    enum run_phase phase;
    size_t attempts; /* open attempts and deletions */
    uint64_t tip;    /* the number of the tip: grows with each commit that it moves to */
    bool no_wait;    /* the user does not want to wait for limits */
    bool draining;   /* start nothing new; let running attempts end */
    bool stopping;   /* a person stopped the run */
    bool failed;     /* the program itself cannot continue */
    bool paused;     /* start no task until a person continues the run */
};

void engine_init(struct engine *e, const struct plan *plan, bool no_wait);
void engine_done(struct engine *e);

/* The tasks of the run are known (`wanted`, NULL: all). Lanes are assigned after that. */
void engine_schedule(struct engine *e, struct graph *graph, struct claims *claims, size_t workers,
                     const bool *wanted);

/* True if the run starts no more tasks. A user may raise the budget while attempts run. */
bool engine_is_draining(const struct engine *e);

/* True if the run ends: failed attempts are not retried, and finished work lands in any order. */
bool engine_is_ending(const struct engine *e);

/* The next task to start; false if none may start now. */
bool engine_next_start(struct engine *e, uint32_t *ret_task);

/* The next task to land. *ret_verified: its commit is merged with this very tip, and verified. */
bool engine_next_landing(struct engine *e, uint32_t *ret_task, bool *ret_verified);

/* The tip is another commit now. */
void engine_move_tip(struct engine *e);

/* A task changes its state by the table of its life. False: it cannot. */
bool engine_advance(struct engine *e, uint32_t task, enum life_event event);

/* The task waits to land; its commit is merged with the tip; that is the tip now. */
bool engine_queue(struct engine *e, uint32_t task);
void engine_merge(struct engine *e, uint32_t task);
void engine_land(struct engine *e, uint32_t task);

/* The tip could not move after all: takes the last landing back, and returns its task. */
uint32_t engine_unland(struct engine *e);

/* The task has ended in its present state. Skips the tasks that need it if it has not succeeded,
 * and appends them. */
void engine_end(struct engine *e, uint32_t task, struct sched_list *ret_skipped);

/* Skips a task without an attempt. An earlier landing stays. */
void engine_skip(struct engine *e, uint32_t task);

/* An ended task gets another attempt: forgets its retries. */
void engine_restart(struct engine *e, uint32_t task);

/* After that: the task waits, and so do those that were skipped because of it; appends them. */
void engine_take_back(struct engine *e, uint32_t task, struct sched_list *ret_freed);

/* The task waits for a time, then engine_retry_due() makes it ready; or for its lane. */
void engine_wait(struct engine *e, uint32_t task);
void engine_retry_due(struct engine *e, uint32_t task);
void engine_park(struct engine *e, uint32_t task);

/* The next attempt resumes the session of this one, in the same lane. */
void engine_keep_session(struct engine *e, uint32_t task, bool restored);

/* The attempt of a task that starts begins; returns how. */
enum task_start engine_begin(struct engine *e, uint32_t task);

struct retries engine_retries(const struct engine *e, uint32_t task);

/* An attempt met a usage limit. Says if the task waits or falls back, and closes its lane. */
struct engine_limit {
    struct failure_outcome outcome; /* delay_ms: until the lane opens, if the task waits */
    bool closed;                    /* the lane is closed now, or for longer: tell the user */
};
struct engine_limit engine_meet_limit(struct engine *e, uint32_t task, struct limit_facts *facts,
                                      uint32_t random);

/* An attempt has failed, and its work is saved as far as `facts` say. Decides what follows;
 * engine_settle_failure() notes that, after the shell has set up a repair. */
struct failure_outcome engine_fail(const struct engine *e, uint32_t task,
                                   struct failure_facts *facts, uint32_t random);
void engine_settle_failure(struct engine *e, uint32_t task, enum failure failure,
                           const struct failure_outcome *outcome);

/* What the run does next. The shell adds what it knows of its own work. */
struct engine_facts {
    bool has_base, pool_filled, observers_busy;
};
enum run_step engine_next_step(const struct engine *e, const struct engine_facts *facts);

#endif
