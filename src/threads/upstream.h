/*
 * struct upstream: the branch of a remote that a branch follows: as git is configured, or else that
 * of the same name at `origin` (or at the only remote), where something is known of it.
 */
#ifndef THREADS_UPSTREAM_H
#define THREADS_UPSTREAM_H

#include "base/err.h"
#include "git/git.h"

struct upstream {
    char *remote;   /* NULL: there is none */
    char *ref;      /* its full name there */
    char *tracking; /* and here: refs/remotes/origin/main */
};

int upstream_find(struct upstream *u, const struct git_place *at, const char *branch,
                  struct err *err);
void upstream_done(struct upstream *u);

/* The commit that it is at now, by asking the remote. Its remote-tracking branch follows; with
 * `dry_run` no ref is changed. ERR_ENV, with git's words, where the remote does not answer. */
int upstream_fetch(const struct upstream *u, const struct git_place *at, bool dry_run,
                   struct buf *ret_commit, struct err *err);

#endif
