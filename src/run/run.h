/*
 * struct run: one execution of a plan. It asks the scheduler which tasks may start, takes each task
 * through its states, and writes every event to the store before it tells the observers.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/err.h"
#include "plan/engine/task_state.h"
#include "plan/schedule/event.h"
#include "project/plan_file.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

typedef void run_observer_fn(void *ctx, const struct event *ev);

/* Checks the output of an agent that ended well (files `out` and `err` in dir). Returns true, with
 * a reason, if the agent failed all the same. */
typedef bool run_judge_fn(void *ctx, uint32_t task, const char *dir, struct buf *ret_reason);

/* Classifies a failure from the agent's output and exit code. `failure` is the class that the agent
 * reported, or FAILURE_TRANSIENT. */
typedef enum failure run_blame_fn(void *ctx, uint32_t task, const char *dir, int exit_code,
                                  enum failure failure);

struct run_options {
    size_t workers; /* 0: from the plan, or 3 */
    const char
        *base; /* branch to land on; NULL: from the plan, or the branch that is checked out */
    const bool *wanted;       /* per task: run it; NULL: run all */
    enum agent_engine engine; /* for every task; ENGINE_UNSET: from the plan, or claude */
    const char *engine_exe;   /* program to run instead of the engine's own */
    int64_t timeout;          /* ms, for tasks without a timeout; 0: no limit */
    bool no_wait;             /* fail at a limit instead of waiting for its reset */
    bool keep;                /* keep the workspaces of landed tasks */
    const char *self;         /* path of this program */
    const char *log_dir;      /* folder for copies of the logs, or NULL */
    const char
        *own_file; /* a file that the caller writes during the run: do not watch it; or NULL */
    bool no_log;   /* delete the logs of successful tasks at the end */

    /* Templates with {id}, {title}, {run} and {engine}; NULL: our own. */
    const char *branch;        /* of a task, without refs/heads/ */
    const char *merge_subject; /* first line of a merge commit */

    const char *const *write_env; /* "NAME=value" for tasks that write, NULL at the end; or NULL */
    bool write_at_root;           /* these start at the root of the tree, not in the plan's cwd */
    bool read_in_place;           /* read-only tasks work in the plan's cwd itself */
    bool silent_ok;               /* exit code 0 without a result counts as success */
    bool unchanged_ok;            /* so does a task that changed nothing */
    run_judge_fn *judge;          /* or NULL */
    run_blame_fn *blame;          /* or NULL */
    void *judge_ctx;              /* passed to both */

    bool streams; /* report tasks as streams: parallel_start and so on */
    bool derived; /* the plan was derived from its file and differs from it */
    const char *const *
        logger; /* argv of a program that gets these reports instead of the plan's `log`; or NULL */
};

/* The state of a task, for observers. */
struct task_status {
    enum task_state state;
    int attempts;
    enum failure failure;                             /* if it failed */
    const char *reason;                               /* one line, or NULL */
    const char *commit, *landed, *branch, *workspace; /* or NULL */
    const char *action;                               /* the agent's current action, or NULL */
    int64_t started, finished;                        /* ms since 1970; 0: not yet */
    int exit_code;
};

/* Checks everything that we can check before the first side effect, then creates the run. The plan
 * must outlive it. */
int run_open(struct run **ret, struct plan_file *pf, const char *path,
             const struct run_options *opts, struct err *err);
void run_close(struct run *run);

void run_observe(struct run *run, run_observer_fn *fn, void *ctx);

/* For a dry run: tells the observers what will keep work from landing, as run_go() does when it
 * begins. Records nothing. */
void run_preview(struct run *run);

/* Calls fn every ms milliseconds until run_go() returns. */
typedef void run_tick_fn(void *ctx);
void run_every(struct run *run, int64_t ms, run_tick_fn *fn, void *ctx);

/* Executes the plan. Returns when nothing is left to do or a user stopped the run; -1 only if the
 * program itself could not continue. */
int run_go(struct run *run, struct err *err);

const char *run_id(const struct run *run);
const char *run_dir(const struct run *run);             /* folder of its logs */
const char *run_state_dir(const struct run *run);       /* folder of its store */
const struct git_repo *run_repo(const struct run *run); /* its root is NULL without a repository */
const char *run_base(const struct run *run);            /* the branch; NULL without a repository */
const char *
run_base_commit(const struct run *run); /* the base when the run began; NULL without a repository */
size_t run_workers(const struct run *run);
struct task_status run_task(const struct run *run, uint32_t task);

/* The settings of a task, with the defaults filled in. */
struct task_terms {
    const char *engine;
    int64_t timeout, idle_timeout; /* ms; 0: none */
    int retries[FAILURE_COUNT_];
};
struct task_terms run_terms(const struct run *run, uint32_t task);

enum { RUN_EXIT_TASK = 1, RUN_EXIT_BROKEN = 3, RUN_EXIT_CONFLICT = 4 };

/* The result of a run, after run_go(). */
struct run_result {
    size_t landed, done, failed, conflicted, skipped;
    int signal;          /* the signal that stopped it, or 0 */
    bool published;      /* the base branch has everything that landed */
    const char *result;  /* otherwise the branch that has it ... */
    const char *refusal; /* ... git's message that says why, ... */
    const char *advice;  /* ... and the command to type */
    int exit_code;       /* of the program, from the table in anabranch(1) */
};
struct run_result run_result(const struct run *run);

#endif
