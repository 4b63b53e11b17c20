/*
 * struct thread: a branch with a worktree of its own, made by `fanout`, that a person and an agent
 * work in.
 *
 * We keep its data in one file, `anabranch.json` in the worktree's administrative folder
 * (<common>/worktrees/<name>), so it lives exactly as long as the worktree. A thread exists if this
 * file does: we write it last. Strings are on the heap; the thread owns them.
 */
#ifndef THREADS_THREAD_H
#define THREADS_THREAD_H

#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "git/git.h"

#include <stdbool.h>
#include <stdint.h>

#define THREAD_FILE  "anabranch.json"
#define THREAD_BRIEF "THREAD_BRIEF.md"

/* A path that the thread asked for later, by `own request`. */
struct thread_request {
    char *path;       /* normalised, like those of `owns` */
    char *claimed_by; /* id of the thread that claims it, or whose plan forbids it; NULL: granted */
    int64_t at;       /* ms since 1970 */
};

struct thread {
    char *id;
    char *branch; /* full name of its ref */
    char *goal;   /* from the plan; may have several lines */
    char *prompt; /* instructions beyond the goal, or NULL */
    char *engine; /* its name in a plan, such as "claude" */
    struct strv owns,
        forbids; /* normalised (plan/schedule/claims.h), relative to the root; "": everything */
    struct strv after; /* ids of threads that it depends on */
    bool ordered;      /* the plan sets its place in the merge order */
    int64_t order;     /* merge_order; 0 if the plan does not set it */
    char *enforce;     /* "warn", "ask" or "block" */
    char *base; /* full name of the ref that it lands on; NULL: it was made from a detached HEAD */
    char *base_commit;   /* the commit that it was made from, full id */
    int64_t port, ports; /* its block of ports; ports is 0 if it has none */
    bool made;           /* we made the worktree and the branch: cleanup may remove them */
    bool configured;     /* we enabled extensions.worktreeConfig: disable it with the last thread */
    VEC(struct thread_request) requests;
    char *pull;       /* address of the pull request that converge made or found, or NULL */
    char *pull_state; /* "open" or "draft" at that time */

    /* Not in the file: */
    char *path;  /* the worktree, absolute; it may be gone */
    char *admin; /* its administrative folder, absolute */
};

/* A worktree with a file that we cannot understand: we do not know its branch or its claims. */
struct thread_damaged {
    char *id;      /* from the name of its folder */
    char *path;    /* the worktree, or NULL if we do not know it */
    char *admin;   /* its administrative folder, absolute */
    char *problem; /* one line */
    char *hint;    /* what the user can do */
};

struct threads {
    struct thread *v; /* by order, threads without one last; then by id, 2 before 10 */
    size_t n, cap;
    VEC(struct thread_damaged) damaged; /* by id */
};

void thread_done(struct thread *t);

/* Replaces the file in t->admin atomically. Returns ERR_INPUT if a text is not UTF-8. */
int thread_save(const struct thread *t, struct err *err);

/* Loads all threads of a repository, without calling git. `damaged` has those with a file that
 * cannot be read, is damaged or was not written by this program; this is no failure. Always call
 * threads_done(). */
int threads_load(struct threads *ts, const struct git_repo *repo, struct err *err);
void threads_done(struct threads *ts);
#define autothreads own_cleanup(threads_done)

struct thread *threads_find(const struct threads *ts, const char *id); /* or NULL */

struct thread_damaged *threads_find_damaged(const struct threads *ts, const char *id); /* or NULL */

/* For callers that need to know all threads: returns ERR_ENV, and names the first damaged one, if
 * there is any. */
int threads_check(const struct threads *ts, struct err *err);

/* The thread whose worktree contains the folder, or NULL. */
struct thread *thread_here(const struct threads *ts, const char *dir);

/* Sorts a list that the caller made, in the order above. */
void threads_sort(struct threads *ts);

#endif
