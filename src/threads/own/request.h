/*
 * Asking for a path that a thread does not own. It is granted at once where no thread whose
 * worktree is there claims it, nor the thread's own plan forbids it. The thread's file says what
 * was asked for and what came of it, and a later request for the same path is decided anew.
 */
#ifndef THREADS_OWN_REQUEST_H
#define THREADS_OWN_REQUEST_H

#include "threads/thread.h"

enum own_answer {
    OWN_ANSWER_HAS,       /* it was the thread's already; nothing is recorded */
    OWN_ANSWER_GRANTED,   /* from now on it is */
    OWN_ANSWER_FORBIDDEN, /* by its plan; claim is the one that says so */
    OWN_ANSWER_TAKEN,     /* another thread has it; claim is its */
};

struct own_decision {
    char *path; /* normalised; "" is everything */
    enum own_answer answer;
    char *claim;
    char *whose, *whose_tree; /* of the other thread: its id, its worktree */
};

struct own_decisions {
    struct own_decision *v;
    size_t n, cap;
};

void own_decisions_done(struct own_decisions *ds);
#define autodecisions own_cleanup(own_decisions_done)

/* Appends the claim that is just this path, whatever characters are in it. */
void own_request_literal(struct buf *out, const char *path);

/* Decides on paths (files, folders or globs; a name that is there is taken as it is) that are
 * relative to `prefix` in the worktree of the thread of that id, under a lock, so that of two who
 * ask at once one gets it. ERR_INPUT, and nothing is changed, where one of them is no path in the
 * repository. Released in every case. */
int own_request(const struct git_repo *repo, const char *id, const char *prefix,
                const char *const *paths, struct own_decisions *ret, struct err *err);

#endif
