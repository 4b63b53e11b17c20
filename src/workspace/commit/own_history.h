/*
 * struct own_history: the commits that an agent made itself in its workspace, and the commits that
 * they build on. We do not publish them as they are, because the agent may have written any
 * authors, dates and signatures into them. Either own_history_write() makes each of them again, or
 * the caller makes one commit of all.
 */
#ifndef WORKSPACE_COMMIT_OWN_HISTORY_H
#define WORKSPACE_COMMIT_OWN_HISTORY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"
#include "git/tree/tree_diff.h"

#include <stdbool.h>

struct own_history {
    struct strv commits; /* ids, parents first */
    struct strv parents; /* for each commit: ids separated by blanks; "" for a root */
    struct strv bases;   /* commits of others on which they build: at least one, none in the history
                            of another */
    struct buf
        fork; /* the common ancestor of `start` and the agent's commits, if those branch off before
                 `start`; empty if they build on it or have nothing in common with it */
};

#define OWN_HISTORY_INIT                                                                           \
    {                                                                                              \
        .fork = BUF_INIT                                                                           \
    }

/* Reads the commits from `start`, or from the last landed commit (`tip`, or NULL), to `head`.
 * Ignores commits that do not build on `start`: the only base is `start` then. Starts one process,
 * unless head is start. */
int own_history_read(const struct git_place *at, const char *start, const char *tip,
                     const char *head, struct own_history *ret, struct err *err);
void own_history_done(struct own_history *h);
#define autoownhistory own_cleanup(own_history_done)

/* Calls `found` for each file that a commit changed; for a merge, each file that differs from all
 * parents. *ret_known is false for a root commit, which has nothing to compare with. */
int own_history_changes(const struct git_place *at, const struct own_history *h, size_t commit,
                        tree_diff_found *found, void *ctx, bool *ret_known, struct err *err);

/* Makes the commits again with the same trees and messages, by the user and now. With
 * `keep_authors` they keep their authors. Appends the id of the last one. */
int own_history_write(const struct git_place *at, const struct own_history *h, bool keep_authors,
                      struct buf *ret_head, struct err *err);

/* Appends the author of a commit; nothing if the author line is not in git's form. */
int own_history_author(const struct git_place *at, const char *commit, struct buf *ret,
                       struct err *err);

#endif
