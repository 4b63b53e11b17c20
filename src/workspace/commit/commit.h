/*
 * Turns the work in a workspace into a commit. We use plumbing commands and an index of our own,
 * so that no hook, no signing prompt and no index of the user's interferes.
 */
#ifndef WORKSPACE_COMMIT_COMMIT_H
#define WORKSPACE_COMMIT_COMMIT_H

#include "base/buf.h"
#include "base/err.h"
#include "git/tree/work_scan.h"
#include "workspace/commit/own_history.h"
#include "workspace/fill/included.h"
#include "workspace/overlay/upper_scan.h"
#include "workspace/workspace.h"

struct commit_job {
    const struct workspace *ws;
    const char *start; /* the commit at which the workspace began */
    const char *index; /* file to use as the index: we copy the workspace's own index there */
    bool wants_index;  /* the caller needs the index after staging */
    const char *tree;  /* the staged tree, if commit_stage() returned one; then there is no index */
    const struct tracked *tracked; /* the paths in the workspace's index, if known, or NULL */
    const struct work_scan *scan; /* paths that may have changed, as in struct stage_job, or NULL */
    struct work_scan *found;      /* gets the scan's result, as in struct stage_job, or NULL */
    const char *excludes; /* patterns of the included files, which we never commit, or NULL */
    const char *brought;  /* the same files as paths (workspace/fill/included.h), or NULL */
    const char *root;     /* the checkout from which they were included */
    const char *message;
    const struct git_core *core; /* of the repository, or NULL: git does everything */
};

/* argv and environment of the command that adds the whole work tree to the job's index. This is
 * the slow part; the caller runs it. If argv stays empty, everything is staged already: if no
 * index was wanted, ret_tree has the staged tree and there is no index. */
int commit_stage(const struct commit_job *job, struct buf *ret_tree, struct strv *argv,
                 struct strv *env, struct err *err);

/* The same without starting a command: *ret_done is false if git has to do it. `ret_ignored` (may
 * be NULL) gets the ignored files and folders, folders with a slash at the end. */
int commit_stage_plainly(const struct commit_job *job, struct buf *ret_tree,
                         struct strv *ret_ignored, bool *ret_done, struct err *err);

/* The next commit, for checks before it is made. */
struct commit_draft {
    struct buf tree;        /* the staged tree */
    struct own_history own; /* the agent's own commits */
};

#define COMMIT_DRAFT_INIT                                                                          \
    {                                                                                              \
        .tree = BUF_INIT, .own = OWN_HISTORY_INIT                                                  \
    }

/* `tip` is the last landed commit, or NULL. The tree does not contain included files. */
int commit_draft_make(const struct commit_job *job, const char *tip, struct commit_draft *ret,
                      struct err *err);
void commit_draft_done(struct commit_draft *draft);
#define autocommitdraft own_cleanup(commit_draft_done)

/* Commits the staged tree on top of the agent's own commits, which we make again
 * (own_history_write()), and moves the workspace's branch to it. With `as_one` our commit replaces
 * the agent's. *ret_commit is empty if nothing has changed since the first of the draft's bases. */
struct commit_style {
    bool as_one, keep_authors;
};
int commit_finish(const struct commit_job *job, const struct commit_draft *draft,
                  struct commit_style style, struct buf *ret_commit, struct err *err);

/* The parts of this for salvaging a workspace. commit_index() makes the index: a copy of the
 * workspace's own, or, with `anew` or if the agent has deleted that one, an index of `start`. */
int commit_index(const struct commit_job *job, bool anew, struct err *err);

/* Commits that index with the job's message, on top of the agent's commits. *ret_commit is empty
 * if nothing has changed since `start`, unless `always` is set. Moves no ref. */
int commit_make(const struct commit_job *job, bool always, struct buf *ret_commit, struct err *err);

/* *ret_yes: a commit between the two contains included files. */
int commit_has_brought(const struct git_place *at, const char *start, const char *head,
                       const struct included *brought, bool *ret_yes, struct err *err);

/* Appends the paths that differ between two commits, each followed by a NUL; a rename counts as
 * two paths. */
int commit_paths(const struct git_place *at, const char *from, const char *to, struct buf *out,
                 struct err *err);

#endif
