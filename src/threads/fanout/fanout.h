/*
 * Fanning out: from a plan to threads (threads/thread.h), each with a branch, a worktree and a
 * brief, for people and agents to work in. All of them are made or none.
 *
 * A thread that is there already stays as it is, so that the same plan can be fanned out again when
 * it has grown.
 */
#ifndef THREADS_FANOUT_FANOUT_H
#define THREADS_FANOUT_FANOUT_H

#include "project/plan_file.h"
#include "threads/thread.h"

#include <stdbool.h>

/* What a thread's brief says, in place of ours (threads/brief.h). */
typedef void fanout_brief_fn(const struct plan_file *pf, const struct thread *t, struct buf *out);

struct fanout_options {
    const bool *wanted;    /* per task; NULL: all */
    const char *plan_path; /* its changes do not count as the user's */
    enum engine engine;    /* in place of what the plan says; ENGINE_UNSET: as it says */
    bool allow_dirty;
    fanout_brief_fn *brief;            /* or NULL */
    void (*waiting)(const char *whom); /* told where another is at work, or NULL */
};

struct fanout {
    const struct plan_file *pf;
    struct fanout_options opts;
    char *work;           /* the folder that the worktrees are in */
    char *base;           /* full name of the ref that threads are to land on, or NULL */
    char *base_commit;    /* what all of them begin with */
    struct threads there; /* all that the repository has */
    struct threads fresh; /* to be made; afterwards: made */
    struct strv known;    /* ids that were asked for and are there */
    int signal;           /* that stopped it, or 0 */
};

/* Checks everything that can be checked, and changes nothing. ERR_INPUT where plan or options are
 * wrong, ERR_ENV where something is in the way. To be released in every case. */
int fanout_open(struct fanout *f, const struct plan_file *pf, const struct fanout_options *opts,
                struct err *err);

/* Makes the fresh ones. On failure, and where SIGINT, SIGTERM or SIGHUP came, what was made is gone
 * again. */
int fanout_make(struct fanout *f, struct err *err);
void fanout_close(struct fanout *f);
#define autofanout own_cleanup(fanout_close)

/* Whether something that nobody tracks, a folder with a slash behind its path, is nothing but what
 * was put into the worktree for the thread: its brief, the settings of Claude Code. */
bool fanout_made(const struct thread *t, const char *path);

/* Appends the shell line that begins work in a thread: "cd PATH && claude". */
void fanout_add_call(const struct fanout *f, const struct thread *t, struct buf *out);

#endif
