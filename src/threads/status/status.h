/*
 * struct thread_looks: the current state of the threads of a repository (threads/thread.h).
 *
 * We start at most one git process per worktree to find uncommitted changes, and none if there are
 * no changes (changes.h). Long-running processes answer questions on history, paths and most
 * merges. A merge of two threads takes a process only if their paths meet. For n threads we start
 * at most n of these, or 16; we report the others as untested. We change nothing and contact no
 * remote.
 */
#ifndef THREADS_STATUS_STATUS_H
#define THREADS_STATUS_STATUS_H

#include "base/strv.h"
#include "base/vec.h"
#include "threads/own/own.h"
#include "threads/thread.h"

#include <stdbool.h>

struct git_batch;

enum thread_merge {
    THREAD_MERGE_NOTHING,  /* it has no commit that the other one lacks */
    THREAD_MERGE_CLEAN,    /* merges without conflicts */
    THREAD_MERGE_CONFLICT, /* a person must look at it */
    THREAD_MERGE_UNTESTED, /* both change the same paths; we know no more */
};

const char *thread_merge_name(enum thread_merge merge); /* "nothing", "clean" ... */

/* Another thread that changes the same paths. */
struct thread_meeting {
    size_t other; /* its index among the looks */
    enum thread_merge merge;
};

struct thread_look {
    const struct thread *thread;
    char *problem;   /* why we know nothing else, or NULL: then all that follows is known */
    char *head;      /* the tip of its branch */
    char *elsewhere; /* NULL, or what its worktree has checked out instead of its branch; then: */
    char *there, *there_subject; /* the last commit there, if any, and its subject */
    size_t there_ahead;          /* number of commits there that the base lacks */
    char *subject;               /* of the last commit on its branch */
    char *base;                  /* the commit that we compare with: the current tip of its base */
    char *fork;                  /* the merge base with that, or NULL if there is no single one */
    struct strv own_bases; /* the base branch, its upstream, the commit that it was made from */
    char *since;           /* merge base with these: the thread's own changes start here */
    size_t ahead, behind;
    struct strv uncommitted; /* "XY path", as in `git status --short` */
    struct buf paths;        /* paths changed by its commits, each followed by a NUL */
    struct own_verdict own;  /* on these and on uncommitted paths */
    enum thread_merge merge; /* with its base */
    struct strv conflicts;   /* paths with conflicts */
    VEC(struct thread_meeting) meetings;
};

struct thread_looks {
    struct thread_look *v; /* in the order of the threads */
    size_t n;
};

/* Looks at all threads. If a worktree cannot be read, this is a problem of its thread, but no
 * failure. The threads must outlive the looks. base: full name of a ref instead of each thread's
 * own base, or NULL. merges: also test merges. Always call thread_looks_close(). */
int thread_looks_open(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                      const struct threads *ts, const char *base, bool merges, struct err *err);
void thread_looks_close(struct thread_looks *ls);

/* For the parts of a look: sets the problem, unless it is set already. */
void thread_look_fail(struct thread_look *l, const char *words);

#endif
