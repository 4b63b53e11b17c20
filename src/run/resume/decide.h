/*
 * struct resume: resumes a run whose engine is gone. First it decides for each task how to
 * continue, from the evidence (plan/engine/rules/resume_step.h); that changes nothing, and commands
 * can show it. Then run_go() carries it out.
 */
#ifndef RUN_RESUME_DECIDE_H
#define RUN_RESUME_DECIDE_H

#include "base/err.h"
#include "plan/engine/rules/resume_step.h"
#include "project/plan_file.h"
#include "run/resume/evidence.h"
#include "run/run.h"
#include "run/state/run_folder.h"

struct resume_task {
    enum resume_step step;
    const char *why;            /* one line */
    const char *session;        /* for RESUME_CONTINUE */
    struct evidence_task *past; /* NULL: a new task */
    bool changed;               /* the plan has changed this task */
    bool restarted; /* the machine rebooted before the files in its workspace were on disk */
};

struct resume {
    struct evidence past;
    bool edited;                    /* the plan differs from the one that ran */
    struct resume_task *tasks;      /* in plan order */
    struct evidence_task **dropped; /* unlanded tasks that are no longer in the plan */
    size_t dropped_count;
    size_t count[RESUME_STEP_COUNT_];
    bool nothing; /* nothing is left to do, not even cleaning up */

    /* If only one task is resumed: */
    const char *one;
    const char *say;    /* the message to its agent; NULL: tell it to try again */
    const bool *wanted; /* this task and those skipped because of it; all others stay as they are */
};

struct resume_options {
    struct plan_file *was; /* the plan as it ran; NULL: unchanged */
    const char *plan;      /* another file that has the plan now, or NULL */
    bool keep_failed;      /* failed tasks stay failed */
    bool look_only;        /* do not write anything: run_go() will not follow */

    /* The only task to resume, in any final state; NULL: all tasks. Its agent resumes its session
     * with the message `say`, or is told to try again. Without a message, a task that cannot resume
     * its session, or is to be `fresh`, starts again. ERR_INPUT if none of this is possible. */
    const char *task, *say;
    bool fresh;
};

/* Creates the run again from its saved files and a plan that may be edited, and decides how to
 * continue. `saved` and the plan must outlive it; it takes over the lock. */
int run_reopen(struct run **ret, struct plan_file *pf, const struct run_folder *saved,
               const struct run_options *opts, const struct resume_options *resume, int *lock,
               struct err *err);

const struct resume *run_resumed(const struct run *run); /* NULL for a new run */

#endif
