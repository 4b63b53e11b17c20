/*
 * struct thread: a branch with a worktree of its own that a person and an agent work in, as
 * `fanout` made it.
 *
 * What is known of it has one home, the file `anabranch.json` in the worktree's administrative
 * folder (<common>/worktrees/<name>), and so lives exactly as long as the worktree. A thread is
 * there when that file is: it is written last. Strings are on the heap; the thread owns them.
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
    char *path;       /* normalised, as those of `owns` */
    char *claimed_by; /* id of the thread whose it is, its own where its plan forbids it; NULL: it
                       * was granted, and counts as owned */
    int64_t at;       /* ms since 1970 */
};

struct thread {
    char *id;
    char *branch; /* full name of its ref */
    char *goal;   /* as the plan says it; may have several lines */
    char *prompt; /* what there is to say beyond the goal, or NULL */
    char *engine; /* its word in a plan, "claude" */
    struct strv owns,
        forbids; /* normalised (plan/schedule/claims.h), relative to the root; "": everything */
    struct strv after;   /* ids of threads that it depends on */
    bool ordered;        /* the plan says its place in the order */
    int64_t order;       /* merge_order; 0 where it does not */
    char *enforce;       /* "warn", "ask" or "block" */
    char *base;          /* full name of the ref that it is to land on; NULL: a commit was
                          * checked out, not a branch */
    char *base_commit;   /* what it was made from, in full */
    int64_t port, ports; /* its block of ports; ports is 0 where it has none */
    bool made;           /* the worktree and the branch are ours: cleanup may take them away */
    bool configured;     /* we switched extensions.worktreeConfig on: off with the last one */
    VEC(struct thread_request) requests;
    char *pull;       /* address of its pull request, as converge made or found it; or NULL */
    char *pull_state; /* "open" or "draft", as of then */

    /* Where it is; not in the file. */
    char *path;  /* the worktree, absolute; it need not be there any more */
    char *admin; /* its administrative folder, absolute */
};

/* A worktree whose file is there and cannot be understood: what the thread claims, and which branch
 * is its own, is not known. */
struct thread_damaged {
    char *id;      /* as its folder is called */
    char *path;    /* the worktree, or NULL where that is not known either */
    char *admin;   /* its administrative folder, absolute */
    char *problem; /* one line */
    char *hint;    /* what to do */
};

struct threads {
    struct thread *v; /* by order, those without one last; then by id, 2 before 10 */
    size_t n, cap;
    VEC(struct thread_damaged) damaged; /* by id */
};

void thread_done(struct thread *t);

/* Writes the file in t->admin, whole or not at all. ERR_INPUT where a text is not UTF-8. */
int thread_save(const struct thread *t, struct err *err);

/* All threads of a repository; asks no git. Those whose file cannot be read, is damaged or was not
 * written by this program are in `damaged`, and no failure. Released with threads_done() in every
 * case. */
int threads_load(struct threads *ts, const struct git_repo *repo, struct err *err);
void threads_done(struct threads *ts);
#define autothreads own_cleanup(threads_done)

struct thread *threads_find(const struct threads *ts, const char *id); /* or NULL */

struct thread_damaged *threads_find_damaged(const struct threads *ts, const char *id); /* or NULL */

/* For who cannot go on where something is not known of a thread: ERR_ENV, naming the first that is
 * damaged. */
int threads_check(const struct threads *ts, struct err *err);

/* The thread whose worktree a folder is in or at, or NULL. */
struct thread *thread_here(const struct threads *ts, const char *dir);

/* For who gathers threads by himself: puts them into the order above. */
void threads_sort(struct threads *ts);

#endif
