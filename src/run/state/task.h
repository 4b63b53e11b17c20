/*
 * struct task_run: one task over all its attempts. Reports changes of its state to the engine, and
 * records them.
 */
#ifndef RUN_STATE_TASK_H
#define RUN_STATE_TASK_H

#include "base/strv.h"
#include "plan/engine/engine.h"
#include "run/run.h"
#include "sys/proc/loop.h"

struct attempt;

struct task_run {
    struct run *run;
    const struct engine_task *life; /* its state, and what the engine has decided about it */
    struct task_status status;      /* its strings are those below; run_task() adds the state */
    char *reason, *commit, *landed, *branch, *start, *action, *workspace;
    char *first_start;     /* the first start commit, if `start` has moved since; or NULL */
    struct strv own_heads; /* the agent's last own commit, of each attempt that we committed anew;
                              the log of a repaired workspace still has them */
    char *feedback;        /* tells the next attempt's agent why the last attempt failed, and what a
                              person said */
    struct attempt *attempt;   /* the running attempt, or NULL */
    struct watch *retry_timer; /* timer until the next attempt, or NULL */
    bool has_log_copies;       /* copies of its logs exist: append to them */
    bool steering_recorded;    /* its agent tried to steer the run: recorded once */
    char *pending_message; /* a message for a working agent: we deliver it when the agent is done;
                              or NULL */
    char *last_session;    /* session of the last attempt, if known; or NULL */

    char *landed_before, *committed_before; /* the earlier landing and the task's commit; or NULL */
    char *start_before; /* the commit that it then started from, or NULL: not known here */
    char *session;      /* the next attempt resumes this session; or NULL */
    char *remake_from;  /* ... in a new workspace with the content of this commit as uncommitted
                           files; or NULL */
};

void task_report_and_record(struct run *run, uint32_t task, enum engine_event_kind kind);

/* These carry out actions of the engine. */
void do_skip(struct run *run, const struct action *a, const struct engine_event *ev);
void do_unskip(struct run *run, const struct action *a, const struct engine_event *ev);

/* The task has ended in its present state. task_end() also records the time. */
void task_end(struct run *run, uint32_t task);
void task_ended(struct run *run, uint32_t task);
void task_retry_later(struct run *run, uint32_t task, int64_t delay);

/* Skips a task that has no attempt and will have none. */
void task_skip(struct run *run, uint32_t task, const char *reason);

/* Prepares a failed task for another attempt. Tasks that were skipped because of it wait again; an
 * event says so. Returns their number. */
size_t task_take_back(struct run *run, uint32_t task);

/* Replaces a string of a task, and its public pointer `shown` if there is one; value may be NULL.
 */
void task_set(char **slot, const char **shown, const char *value);

#endif
