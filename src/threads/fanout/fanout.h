/*
 * Fanning out makes threads from a plan (threads/thread.h), each with a branch, a worktree and a
 * brief, for people and agents to work in. We make all of them or none.
 *
 * Existing threads stay as they are, so a plan that has grown can be fanned out again.
 */
#ifndef THREADS_FANOUT_FANOUT_H
#define THREADS_FANOUT_FANOUT_H

#include "project/plan_file.h"
#include "threads/thread.h"

#include <stdbool.h>

/* Writes a thread's brief instead of ours (threads/brief.h). */
typedef void fanout_brief_fn(const struct plan_file *pf, const struct thread *t, struct buf *out);

struct fanout_options {
    const bool *wanted;       /* per task; NULL: all */
    const char *plan_path;    /* the user may have changed this file */
    enum agent_engine engine; /* overrides the plan; ENGINE_UNSET: use the plan's */
    bool allow_dirty;
    fanout_brief_fn *brief;            /* or NULL */
    void (*waiting)(const char *whom); /* called while another fanout keeps us waiting, or NULL */
};

struct fanout {
    const struct plan_file *pf;
    struct fanout_options opts;
    char *work;           /* the folder for the worktrees */
    char *base;           /* full name of the ref that threads land on, or NULL */
    char *base_commit;    /* the commit that all of them start from */
    struct threads there; /* existing threads of the repository */
    struct threads fresh; /* threads to make; afterwards: made */
    struct strv known;    /* ids of requested threads that exist already */
    int signal;           /* the signal that stopped it, or 0 */
};

/* Checks everything that can be checked, and changes nothing. Returns ERR_INPUT if the plan or the
 * options are wrong, ERR_ENV if there is an obstacle. Always call fanout_close(). */
int fanout_open(struct fanout *f, const struct plan_file *pf, const struct fanout_options *opts,
                struct err *err);

/* Makes the new threads. On failure, and after SIGINT, SIGTERM or SIGHUP, it removes what it
 * made. */
int fanout_make(struct fanout *f, struct err *err);
void fanout_close(struct fanout *f);
#define autofanout own_cleanup(fanout_close)

/* Is an untracked path (a folder ends with a slash) only something that we have put into the
 * worktree for the thread: its brief, the settings of Claude Code? */
bool fanout_made(const struct thread *t, const char *path);

/* Appends the shell line that starts work in a thread: "cd PATH && claude". */
void fanout_add_call(const struct fanout *f, const struct thread *t, struct buf *out);

#endif
