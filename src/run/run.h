/*
 * struct run: a plan while it is carried out. The only place that both decides (core) and acts
 * (sys, data): it asks the scheduler what may start, drives each task through its states, and tells
 * every event to the store first and to the observers then.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "plan/schedule/event.h"
#include "project/plan_file.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

typedef void run_observer_fn(void *ctx, const struct event *ev);

/* Looks at what an agent that ended well has said (files `out` and `err` in dir): true where it has
 * failed all the same, with why. */
typedef bool run_judge_fn(void *ctx, uint32_t task, const char *dir, struct buf *ret_reason);

/* The same for one that failed, with its exit code, and the class that it named, else
 * FAILURE_TRANSIENT: the class that this failure is of. */
typedef enum failure run_blame_fn(void *ctx, uint32_t task, const char *dir, int exit_code,
                                  enum failure failure);

struct run_options {
    size_t workers;     /* 0: what the plan says, else 3 */
    const char *base;   /* branch to land on; NULL: what the plan says, else the one checked out */
    const bool *wanted; /* per task: to be run; NULL: all */
    enum engine engine; /* for every task; ENGINE_UNSET: what the plan says, else claude */
    const char *engine_exe; /* program to run in place of the engine's own */
    int64_t timeout;        /* ms for tasks that have none; 0: no limit */
    bool no_wait;           /* a task that meets a limit fails instead of waiting for its reset */
    bool keep;              /* workspaces of tasks that landed stay */
    const char *self;       /* path of this program */
    const char *log_dir;    /* folder for copies of the logs, or NULL */
    const char *own_file;   /* that the caller writes meanwhile, or NULL: it is not watched */
    bool no_log;            /* logs of tasks that succeed are taken away at the end */

    /* Names and texts in which {id}, {title}, {run} and {engine} are replaced; NULL: our own. */
    const char *branch;        /* of a task, without refs/heads/ */
    const char *merge_subject; /* first line of a merge commit */

    const char *const *write_env; /* "NAME=value" for tasks that write, NULL at the end; or NULL */
    bool write_at_root;           /* they begin at the top of the tree, not in the plan's cwd */
    bool read_in_place;           /* those that only read work in the plan's cwd itself */
    bool silent_ok;               /* an agent that ends with 0 and names no result has done well */
    bool unchanged_ok;            /* so has one that changed nothing */
    run_judge_fn *judge;          /* or NULL */
    run_blame_fn *blame;          /* or NULL */
    void *judge_ctx;              /* of these two */

    bool streams; /* what becomes of its tasks is told as that of streams: parallel_start and so on
                   */
    bool derived; /* the plan was made from that of the file, and is not what the file says */
    const char *const *logger; /* argv to tell that to, in place of the plan's `log`; or NULL */
};

enum task_state {
    TASK_WAITING,
    TASK_READY,
    TASK_PREPARING,
    TASK_RUNNING,
    TASK_COMMITTING,
    TASK_VERIFYING,
    TASK_LANDING,
    TASK_LANDED,
    TASK_DONE, /* a read-only task's end */
    TASK_FAILED,
    TASK_CONFLICTED,
    TASK_SKIPPED,
    TASK_STATE_COUNT_,
};

const char *task_state_name(enum task_state state);

/* What has become of a task, for those who look. */
struct task_status {
    enum task_state state;
    int attempts;
    enum failure failure;                             /* where it failed */
    const char *reason;                               /* one line, or NULL */
    const char *commit, *landed, *branch, *workspace; /* or NULL */
    const char *action;                               /* what its agent does now, or NULL */
    int64_t started, finished;                        /* ms since 1970; 0: not yet */
    int exit_code;
    int64_t tokens_in, tokens_out;
    double usd; /* below 0: not known */
};

/* Checks everything that can be checked before the first side effect, then makes the run. The plan
 * must outlive it. */
int run_open(struct run **ret, struct plan_file *pf, const char *path,
             const struct run_options *opts, struct err *err);
void run_close(struct run *run);

void run_observe(struct run *run, run_observer_fn *fn, void *ctx);

/* Calls fn every ms milliseconds as long as run_go() goes on. */
typedef void run_tick_fn(void *ctx);
void run_every(struct run *run, int64_t ms, run_tick_fn *fn, void *ctx);

/* Carries the plan out; returns when nothing is left to do, or was stopped. -1 only where the
 * program itself could not go on. */
int run_go(struct run *run, struct err *err);

const char *run_id(const struct run *run);
const char *run_dir(const struct run *run);         /* where its logs are */
const char *run_state_dir(const struct run *run);   /* where its store is */
const char *run_git_dir(const struct run *run);     /* the common one; NULL without a repository */
const char *run_base(const struct run *run);        /* the branch; NULL without a repository */
const char *run_base_commit(const struct run *run); /* where it was at first; NULL likewise */
size_t run_workers(const struct run *run);
struct task_status run_task(const struct run *run, uint32_t task);

/* How a task is run, with all that plan and options leave open filled in. */
struct task_terms {
    const char *engine;
    int64_t timeout, idle_timeout; /* ms; 0: none */
    int retries[FAILURE_COUNT_];
};
struct task_terms run_terms(const struct run *run, uint32_t task);

/* How often a failure is tried again where the plan does not say. */
int run_default_retries(enum failure failure);

enum { RUN_EXIT_TASK = 1, RUN_EXIT_BROKEN = 3, RUN_EXIT_CONFLICT = 4 };

/* After run_go(): how it ended. */
struct run_result {
    size_t landed, done, failed, conflicted, skipped;
    int signal;          /* that stopped it, or 0 */
    bool published;      /* the base branch has all that landed */
    const char *result;  /* else the branch that has it ... */
    const char *refusal; /* ... why, in git's words, ... */
    const char *advice;  /* ... and what to type */
    int exit_code;       /* of the program, from the table in anabranch(1) */
};
struct run_result run_result(const struct run *run);

#endif
