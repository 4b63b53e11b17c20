/*
 * struct resume: going on with a run whose engine is gone. First it is decided, for each task, what
 * its earlier life asks for; nothing is changed by that, and it can be shown. Then run_go() does
 * it.
 *
 * What has landed is never run or landed again, unless the plan now asks for something else under
 * the task's name: then it runs once more, on top.
 */
#ifndef RUN_RESUME_DECIDE_H
#define RUN_RESUME_DECIDE_H

#include "project/plan_file.h"
#include "run/resume/evidence.h"
#include "run/run.h"
#include "run/state/run_folder.h"

enum resume_step {
    RESUME_NOT_WANTED, /* it is not of this run */
    RESUME_KEEP,       /* it landed or is done */
    RESUME_FOUND,      /* it landed, and nobody had written that down yet */
    RESUME_LAND,       /* it has its commit: on to its landing */
    RESUME_COMMIT,     /* its agent was done: on to its commit */
    RESUME_CONTINUE,   /* its agent goes on in its session and its workspace */
    RESUME_RUN,        /* from its beginning */
    RESUME_LEAVE,      /* it failed or conflicts, and stays so */
    RESUME_STEP_COUNT_,
};

/* "keep", "found", "land", ...: as they are shown. */
extern const char *const resume_step_names[RESUME_STEP_COUNT_];

struct resume_task {
    enum resume_step step;
    const char *why;            /* one line */
    const char *session;        /* of RESUME_CONTINUE */
    struct evidence_task *past; /* NULL: it is new */
    bool changed;               /* the plan says something else of it now */
    bool restarted;             /* the machine was, before what is in its workspace was safe */
};

struct resume {
    struct evidence past;
    bool edited;                    /* the plan is not the one that was run */
    struct resume_task *tasks;      /* by their place in the plan */
    struct evidence_task **dropped; /* tasks that the plan has no more, and that have not landed */
    size_t dropped_count;
    size_t count[RESUME_STEP_COUNT_];
    bool nothing; /* there is nothing left to do, not even tidying up */

    /* Of a resume that is for one task: */
    const char *one; /* its id, or NULL */
    const char *say; /* what its agent is told; NULL: that it is to try again */
    const bool
        *wanted; /* that one, and what was skipped for its sake; all others stay as they are */
};

struct resume_options {
    const struct plan_file *was; /* the plan as it was run; NULL: the same */
    const char *plan;            /* another file that it is in now, or NULL */
    bool keep_failed;            /* what failed stays so */
    bool look_only;              /* run_go() will not follow: nothing is written */

    /* For one task alone, which may have ended in any way; NULL: for all. Its agent goes on in its
     * session, told something or that it is to try again; where it is not told anything and cannot
     * go on, or is to be fresh, the task begins again. ERR_INPUT where none of that can be. */
    const char *task, *say;
    bool fresh;
};

/* Makes the run again from what was saved of it, with a plan that may have been edited, and
 * decides. `saved` must outlive it as the plan must; the lock becomes the run's. */
int run_reopen(struct run **ret, struct plan_file *pf, const struct run_folder *saved,
               const struct run_options *opts, const struct resume_options *resume, int *lock,
               struct err *err);

const struct resume *run_resumed(const struct run *run); /* NULL where it is a new one */

#endif
