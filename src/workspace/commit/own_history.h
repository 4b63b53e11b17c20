/*
 * struct own_history: the commits that an agent made itself in its workspace, and what they build
 * on. They do not become history as they are: their authors, dates and signatures are whatever the
 * agent wrote there. own_history_write() makes each of them again, or the caller makes one commit
 * of all.
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
    struct strv commits; /* ids, each behind its parents */
    struct strv parents; /* of each: ids with a blank between them; "" for a root */
    struct strv bases;   /* what others made and they build on: at least one, none of which has
                          * another in its history */
    struct buf fork; /* where the agent's commits left the history of `start` before that commit;
                      * empty where they build on it, or have nothing in common with it */
};

#define OWN_HISTORY_INIT                                                                           \
    {                                                                                              \
        .fork = BUF_INIT                                                                           \
    }

/* Reads what leads from `start`, or from what has landed (`tip`, or NULL), to `head`. Commits that
 * do not build on `start` are left out: its base is then `start`. One process, where head is not
 * start. */
int own_history_read(const struct git_place *at, const char *start, const char *tip,
                     const char *head, struct own_history *ret, struct err *err);
void own_history_done(struct own_history *h);
#define autoownhistory own_cleanup(own_history_done)

/* Calls `found` for each file that a commit changed: of a merge, those that no parent has so. False
 * in *ret_known: the commit is a root, which has nothing to be compared with. */
int own_history_changes(const struct git_place *at, const struct own_history *h, size_t commit,
                        tree_diff_found *found, void *ctx, bool *ret_known, struct err *err);

/* Makes the commits again: the same trees and messages, by the user and now; with the authors that
 * they name where `keep_authors` is set. Appends the last one's id. */
int own_history_write(const struct git_place *at, const struct own_history *h, bool keep_authors,
                      struct buf *ret_head, struct err *err);

/* Appends the author that a commit names; nothing where that is not in git's form. */
int own_history_author(const struct git_place *at, const char *commit, struct buf *ret,
                       struct err *err);

#endif
