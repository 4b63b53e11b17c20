/*
 * Merges without a work tree: the cost does not depend on the size of the repository, and the
 * user's files stay untouched.
 */
#ifndef GIT_MERGE_MERGE_H
#define GIT_MERGE_MERGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct merge_result {
    struct buf tree;      /* the merged tree; with conflict markers if it is not clean */
    struct buf conflicts; /* paths in conflict, each with a NUL behind it */
    bool clean;
};

#define MERGE_RESULT_INIT                                                                          \
    {                                                                                              \
        .tree = BUF_INIT, .conflicts = BUF_INIT                                                    \
    }
void merge_result_done(struct merge_result *m);
#define automerge own_cleanup(merge_result_done)

/* Merges two commits. A conflict is a result, not a failure. git reads attributes (merge=union,
 * drivers) and runs drivers in the work tree of the place. */
int merge_trees(const struct git_place *at, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err);

/* The same for callers that run git themselves: the arguments, and the result from its output and
 * status. */
void merge_ask(const struct git_place *at, const char *ours, const char *theirs, struct strv *args);
int merge_answer(const struct buf *out, const struct buf *errout, int status,
                 struct merge_result *ret, struct err *err);

/* The same for a caller that knows the common ancestor. If the place has a batch and no entry
 * changed on both sides, this needs no process (merge_plain_trees.h). */
int merge_since(const struct git_place *at, const char *base, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err);

/* Applies the changes of `commit` since its parent to `onto`. */
int merge_pick(const struct git_place *at, const char *onto, const char *commit,
               struct merge_result *ret, struct err *err);

/* Appends the conflicts of merge_trees() as input for `git update-index -z --index-info`: each path
 * with its versions on both sides and in their ancestor. */
int merge_stages(const struct git_place *at, const char *ours, const char *theirs, struct buf *out,
                 struct err *err);

/* Appends "path (lines 10-14, 30-38)" for each path in conflict, separated by ", ": the places of
 * the conflict markers in the merged file. */
int merge_describe(const struct git_place *at, const struct merge_result *m, struct buf *out,
                   struct err *err);

#endif
