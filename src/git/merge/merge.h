/*
 * Merging without a work tree: the cost does not depend on the size of the repository, and nothing
 * of the user's is touched.
 */
#ifndef GIT_MERGE_MERGE_H
#define GIT_MERGE_MERGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct merge_result {
    struct buf tree;      /* the merged tree; with markers where it is not clean */
    struct buf conflicts; /* paths in conflict, each with a NUL behind it */
    bool clean;
};

#define MERGE_RESULT_INIT                                                                          \
    {                                                                                              \
        .tree = BUF_INIT, .conflicts = BUF_INIT                                                    \
    }
void merge_result_done(struct merge_result *m);
#define automerge own_cleanup(merge_result_done)

/* Merges two commits by their common ancestor. A conflict is a result, not a failure. The place's
 * work tree is where attributes (merge=union, drivers) are read and drivers are run. */
int merge_trees(const struct git_place *at, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err);

/* The same for who runs git himself: its arguments, and what it said by its output and status. */
void merge_ask(const struct git_place *at, const char *ours, const char *theirs, struct strv *args);
int merge_answer(const struct buf *out, const struct buf *errout, int status,
                 struct merge_result *ret, struct err *err);

/* The same for a caller that knows the common ancestor: at a place with a batch, a merge in which
 * no entry changed on both sides then needs no process (merge_plain_trees.h). */
int merge_since(const struct git_place *at, const char *base, const char *ours, const char *theirs,
                struct merge_result *ret, struct err *err);

/* Applies what `commit` changed since its parent to `onto`. */
int merge_pick(const struct git_place *at, const char *onto, const char *commit,
               struct merge_result *ret, struct err *err);

/* Appends the conflicts of merge_trees() as `git update-index -z --index-info` takes them: each
 * path with what both sides and their ancestor have there. */
int merge_stages(const struct git_place *at, const char *ours, const char *theirs, struct buf *out,
                 struct err *err);

/* Appends "path (lines 10-14, 30-38)" for each path in conflict, separated by ", ": where the
 * markers are in the merged file. */
int merge_describe(const struct git_place *at, const struct merge_result *m, struct buf *out,
                   struct err *err);

#endif
