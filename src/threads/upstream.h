/*
 * struct upstream: the remote branch that a branch follows: from git's configuration, or else the
 * branch of the same name at `origin` (or at the only remote) if we have a remote-tracking branch
 * of it.
 */
#ifndef THREADS_UPSTREAM_H
#define THREADS_UPSTREAM_H

#include "base/err.h"
#include "git/git.h"

struct upstream {
    char *remote;   /* NULL: no upstream */
    char *ref;      /* its full name there */
    char *tracking; /* its remote-tracking branch here, such as refs/remotes/origin/main */
};

int upstream_find(struct upstream *u, const struct git_place *at, const char *branch,
                  struct err *err);
void upstream_done(struct upstream *u);

/* Fetches the current commit from the remote and updates its remote-tracking branch. With `dry_run`
 * no ref changes. Returns ERR_ENV with git's message if the remote does not answer. */
int upstream_fetch(const struct upstream *u, const struct git_place *at, bool dry_run,
                   struct buf *ret_commit, struct err *err);

#endif
