/*
 * struct thread_looks: how the threads of a repository (threads/thread.h) stand at this moment.
 *
 * What is not committed, one git process per worktree says, and none where nothing is
 * (changes.h); history, paths and most merges are asked of processes that stay. Whether two
 * commits merge takes a process only where their paths meet, and for n threads there are at most n
 * of these, or 16: what is left is said to be untested. Nothing is changed, and nobody outside is
 * asked.
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
    THREAD_MERGE_CLEAN,    /* by itself */
    THREAD_MERGE_CONFLICT, /* a person must look at it */
    THREAD_MERGE_UNTESTED, /* both change the same paths, and that is all that is known */
};

const char *thread_merge_name(enum thread_merge merge); /* "nothing", "clean" ... */

/* Another thread that changes paths of this one. */
struct thread_meeting {
    size_t other; /* its place among the looks */
    enum thread_merge merge;
};

struct thread_look {
    const struct thread *thread;
    char *problem;   /* why there is nothing to say, or NULL: then all of the following is known */
    char *head;      /* the tip of its branch */
    char *elsewhere; /* what its worktree has checked out instead of its branch, or NULL; then: */
    char *there, *there_subject; /* its last commit, where it has one, ... */
    size_t there_ahead;          /* ... and how many of its commits the base has not */
    char *subject;               /* of the last commit */
    char *base;                  /* the commit that it is held against: what its base is at now */
    char *fork; /* where it left that one, or NULL where there is no single such commit */
    struct strv own_bases; /* of its own: the base branch, that one's upstream, where it began */
    char *since;           /* where it left these: what it changed itself counts from here */
    size_t ahead, behind;
    struct strv uncommitted; /* "XY path", as `git status --short` has it */
    struct buf paths;        /* that its commits change, each with a NUL behind it */
    struct own_verdict own;  /* on these, and on what is not committed */
    enum thread_merge merge; /* with its base */
    struct strv conflicts;   /* paths, where that is a conflict */
    VEC(struct thread_meeting) meetings;
};

struct thread_looks {
    struct thread_look *v; /* in the order of the threads */
    size_t n;
};

/* Looks at all threads. A worktree that cannot be looked at is no failure, but a problem of that
 * thread's. The threads must outlive the looks. base: full name of a ref in place of each thread's
 * own, or NULL. Without `merges` nobody wants to know whether they merge. To be released in every
 * case. */
int thread_looks_open(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                      const struct threads *ts, const char *base, bool merges, struct err *err);
void thread_looks_close(struct thread_looks *ls);

/* For the parts of a look: there is nothing to say of the thread, for the first such reason. */
void thread_look_fail(struct thread_look *l, const char *words);
#define autolooks own_cleanup(thread_looks_close)

#endif
