/*
 * Taking threads away when their work is in the branch that it was for, here or upstream, however
 * it came there. Each thread is told, with what was done and why; one with anything that is not
 * safe elsewhere stays. With the last one goes all that was made in the repository for threads.
 *
 * To be stopped at any point is harmless: the next one goes on from what there is.
 */
#ifndef THREADS_CLEANUP_CLEANUP_H
#define THREADS_CLEANUP_CLEANUP_H

#include "clean/clean.h"
#include "threads/thread.h"

#include <stdbool.h>

/* Why, as a word for programs. */
enum cleanup_reason {
    CLEANUP_MERGED,    /* as in enum merged */
    CLEANUP_REBASED,   /* " */
    CLEANUP_SQUASHED,  /* " */
    CLEANUP_CONTAINED, /* " */
    CLEANUP_FORGE,     /* the forge says that its pull request was merged */
    CLEANUP_GONE,      /* neither its worktree nor its branch is there */

    CLEANUP_DIRTY,     /* something is not committed, or begun and not finished */
    CLEANUP_UNMERGED,  /* some commit is nowhere else */
    CLEANUP_UNSTARTED, /* it has no commit of its own */
    CLEANUP_BUSY,      /* a process works in it */
    CLEANUP_LOCKED,    /* by `git worktree lock` */
    CLEANUP_ELSEWHERE, /* its branch is not checked out in it, or not in it alone */
    CLEANUP_FOREIGN,   /* it was not made by us */
    CLEANUP_DAMAGED,   /* its file: its branch is not known */
    CLEANUP_STOPPED,   /* a signal came first (sys/interrupt.h) */
    CLEANUP_ERROR,
};
extern const char *const cleanup_words[];

struct cleanup_item {
    enum clean_action action; /* CLEAN_FAILED also where it could not be found out */
    enum cleanup_reason reason;
    const struct thread *thread; /* of a damaged one no more than id and path; either of its path
                                  * and branch may be NULL */
    const char *why;             /* one line */
    const char *salvage;         /* the id under which more of it was saved, or NULL */
    const struct strv *dropped;  /* ignored files and folders that go with it */
};

struct cleanup_options {
    const struct git_repo *repo;
    const char *only; /* ids, with commas between them; NULL: all */
    bool dry_run;     /* only tell */
    bool unstarted;   /* those without a commit of their own go as well, if all is clean */
    void (*tell)(void *ctx, const struct cleanup_item *item);
    void (*warn)(void *ctx, const char *message); /* of what does not stop it */
    void (*waiting)(const char *whom);            /* told where it takes longer, or NULL */
    void *ctx;
};

/* ERR_INPUT, and nothing is done, where `only` has an id that no thread has. */
int cleanup(const struct cleanup_options *opts, struct err *err);

#endif
