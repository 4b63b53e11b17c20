/*
 * struct attempt: one attempt at a task. Each step starts a process and names the step that the
 * loop calls when the process has ended. The last step reports an event to the engine, which
 * answers with the next action.
 */
#ifndef RUN_ATTEMPT_ATTEMPT_H
#define RUN_ATTEMPT_ATTEMPT_H

#include "plan/engine/attempt/verdict.h"
#include "plan/engine/engine.h"
#include "run/agent/run_agent.h"
#include "run/commit/commit.h"
#include "run/land/land.h"
#include "run/prepare/prepare.h"
#include "run/process/process.h"
#include "run/state/run_state.h"
#include "sys/fs/beneath.h"
#include "workspace/workspace.h"

struct attempt {
    struct run *run;
    uint32_t task;
    int number;
    struct workspace ws;
    bool has_workspace;
    char *cwd;             /* the agent's working directory */
    char *dir;             /* its files: prompt, logs, index, tmp/ */
    struct file_id dir_id; /* identifies that folder (attempt_dir.h) */
    char *dir_error;       /* error text if an agent replaced that folder, or NULL */
    char *tamper_error;    /* error text if it changed something outside its workspace, or NULL */
    struct watch *tick;    /* of the agent, or of a step that may take long */
    struct process process;
    struct command command;
    struct preparation prepare;
    struct agent_run agent;
    struct staging staged;
    struct candidate landing;
    enum stop_reason stopped;
    enum repair repair;             /* the kind of repair that this attempt is */
    bool has_feedback;              /* the task's `feedback` says why this attempt failed */
    struct failure_outcome outcome; /* what its failure leads to */
    char *conflict;                 /* the files in conflict, or NULL */
};

static inline struct task_run *task_run(struct attempt *attempt)
{
    return &attempt->run->tasks[attempt->task];
}

static inline const struct task *task_of(const struct attempt *attempt)
{
    return &attempt->run->pf->plan.tasks[attempt->task];
}

struct attempt *attempt_new(struct run *run, uint32_t task, int number);
void attempt_free(struct attempt *attempt);

/* The session that the next attempt resumes; NULL or "": unknown. */
const char *attempt_session(const struct attempt *attempt);

/* True if the last scan of the work tree is still valid. */
bool attempt_has_scan(const struct attempt *attempt);

void attempt_stop(struct attempt *attempt, enum stop_reason why, char order);
void attempt_pause(struct attempt *attempt); /* stops all its processes (SIGSTOP) */
void attempt_continue(struct attempt *attempt,
                      int64_t lost); /* continues them; its timeouts ignore the `lost` ms */

#endif
