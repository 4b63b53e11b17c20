/*
 * Requests for paths that a thread does not own. We grant a path at once unless a thread with a
 * worktree claims it or the thread's own plan forbids it. The thread's file records the requests
 * and the decisions. We decide a repeated request again.
 */
#ifndef THREADS_OWN_REQUEST_H
#define THREADS_OWN_REQUEST_H

#include "threads/thread.h"

enum own_answer {
    OWN_ANSWER_HAS,       /* the thread has it already; nothing is recorded */
    OWN_ANSWER_GRANTED,   /* the thread has it from now on */
    OWN_ANSWER_FORBIDDEN, /* by its plan; `claim` is the one that forbids it */
    OWN_ANSWER_TAKEN,     /* another thread has it by `claim` */
};

struct own_decision {
    char *path; /* normalised; "" is everything */
    enum own_answer answer;
    char *claim;
    char *whose, *whose_tree; /* id and worktree of the other thread */
};

struct own_decisions {
    struct own_decision *v;
    size_t n, cap;
};

void own_decisions_done(struct own_decisions *ds);
#define autodecisions own_cleanup(own_decisions_done)

/* Decides on paths (files, folders or globs; an existing name is taken literally) relative to
 * `prefix` in the worktree of the thread. A lock makes sure that only one of two concurrent
 * requests gets a path. If a path is not in the repository, it returns ERR_INPUT and changes
 * nothing. Always call own_decisions_done(). */
int own_request(const struct git_repo *repo, const char *id, const char *prefix,
                const char *const *paths, struct own_decisions *ret, struct err *err);

#endif
