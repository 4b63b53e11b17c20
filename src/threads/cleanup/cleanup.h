/*
 * Removes threads if their base branch has their work, here or upstream, in whatever way it got
 * there. We report each thread with the action and the reason. A thread with anything that exists
 * nowhere else stays. With the last thread we remove everything that was made in the repository for
 * threads.
 *
 * It is safe to kill a cleanup at any time: the next one continues with what it finds.
 */
#ifndef THREADS_CLEANUP_CLEANUP_H
#define THREADS_CLEANUP_CLEANUP_H

#include "clean/clean.h"
#include "threads/thread.h"

#include <stdbool.h>

/* The reason, as a word for programs. */
enum cleanup_reason {
    CLEANUP_MERGED,    /* as in enum merged */
    CLEANUP_REBASED,   /* likewise */
    CLEANUP_SQUASHED,  /* likewise */
    CLEANUP_CONTAINED, /* likewise */
    CLEANUP_FORGE,     /* the forge says that its pull request was merged */
    CLEANUP_GONE,      /* neither its worktree nor its branch exists */

    CLEANUP_DIRTY,     /* it has uncommitted changes, or an unfinished operation of git */
    CLEANUP_UNMERGED,  /* some of its commits are nowhere else */
    CLEANUP_UNSTARTED, /* it has no commit of its own */
    CLEANUP_BUSY,      /* a process works in it */
    CLEANUP_LOCKED,    /* by `git worktree lock` */
    CLEANUP_ELSEWHERE, /* its branch is not checked out in it, or also elsewhere */
    CLEANUP_FOREIGN,   /* we did not make it */
    CLEANUP_DAMAGED,   /* its file: we do not know its branch */
    CLEANUP_STOPPED,   /* a signal came first (sys/interrupt.h) */
    CLEANUP_ERROR,
};
extern const char *const cleanup_words[];

struct cleanup_item {
    enum clean_action action; /* CLEAN_FAILED also if we could not find out */
    enum cleanup_reason reason;
    const struct thread *thread; /* if damaged, only id and path; path and branch may be NULL */
    const char *why;             /* one line */
    const char *salvage;         /* NULL, or the id under which we saved more of it */
    const struct strv *dropped;  /* ignored files and folders that are lost with it */
};

struct cleanup_options {
    const struct git_repo *repo;
    const char *only; /* ids, separated by commas; NULL: all */
    bool dry_run;     /* report, but change nothing */
    bool unstarted;   /* also remove clean threads without a commit of their own */
    void (*tell)(void *ctx, const struct cleanup_item *item);
    void (*warn)(void *ctx, const char *message); /* called for problems that do not stop us */
    void (*waiting)(const char *whom);            /* called if we must wait; may be NULL */
    void *ctx;
};

/* Returns ERR_INPUT, and does nothing, if `only` has an id that no thread has. */
int cleanup(const struct cleanup_options *opts, struct err *err);

#endif
