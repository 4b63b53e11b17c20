/*
 * What a task made of its workspace, as a commit: with plumbing and an index of its own, so that no
 * hook, no signing prompt and no index of the user's is in the way.
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
    const char *start; /* the commit that the workspace began at */
    const char *index; /* file to use as the index: a copy of the workspace's own is made there */
    bool wants_index;  /* someone will look at that when all is staged */
    const char *tree;  /* what was staged, where commit_stage() has said it and no index */
    const struct tracked
        *tracked;                 /* what the workspace's index has, where that is known, or NULL */
    const struct work_scan *scan; /* what may have changed, as in struct stage_job, or NULL */
    struct work_scan *found;      /* likewise: what was found, where there was none, or NULL */
    const char *excludes; /* patterns of what was brought along and is never committed, or NULL */
    const char *brought;  /* the same as paths (workspace/fill/included.h), or NULL */
    const char *root;     /* the checkout that they are from */
    const char *message;
    const struct git_core *core; /* of the repository, or NULL: git does all of it */
};

/* argv and environment of the command that takes the whole work tree into the job's index: the slow
 * part, for the caller to run. No argv: it is done already; where no index is wanted, the tree of
 * it is appended and there is none. */
int commit_stage(const struct commit_job *job, struct buf *ret_tree, struct strv *argv,
                 struct strv *env, struct err *err);

/* The same without a command: *ret_done is false where git has to do it. `ret_ignored` (may be
 * NULL) gets the files and folders that are ignored, a slash behind the folders. */
int commit_stage_plainly(const struct commit_job *job, struct buf *ret_tree,
                         struct strv *ret_ignored, bool *ret_done, struct err *err);

/* What the next commit will be: to be looked at before it is made. */
struct commit_draft {
    struct buf tree;        /* of what is staged */
    struct own_history own; /* what the agent committed itself */
};

#define COMMIT_DRAFT_INIT                                                                          \
    {                                                                                              \
        .tree = BUF_INIT, .own = OWN_HISTORY_INIT                                                  \
    }

/* `tip` is all that has landed, or NULL. What was brought along is not in the tree. */
int commit_draft_make(const struct commit_job *job, const char *tip, struct commit_draft *ret,
                      struct err *err);
void commit_draft_done(struct commit_draft *draft);
#define autocommitdraft own_cleanup(commit_draft_done)

/* Makes the commit of what was staged, on top of what the agent committed itself, which is made
 * again (own_history_write()), and moves the workspace's branch to it. With `as_one` it takes the
 * place of the agent's commits. *ret_commit is empty where nothing at all has changed since the
 * first of the draft's bases. */
struct commit_style {
    bool as_one, keep_authors;
};
int commit_finish(const struct commit_job *job, const struct commit_draft *draft,
                  struct commit_style style, struct buf *ret_commit, struct err *err);

/* The parts of that for who saves a workspace. The index: the workspace's own, or made anew of
 * `start`, which it is as well where the agent took it away. */
int commit_index(const struct commit_job *job, bool anew, struct err *err);

/* A commit of what is in that index with the job's message, whoever committed before; empty where
 * nothing has changed since `start`, unless it is to be made always. No ref is moved. */
int commit_make(const struct commit_job *job, bool always, struct buf *ret_commit, struct err *err);

/* Whether some commit between the two has what was brought along. */
int commit_has_brought(const struct git_place *at, const char *start, const char *head,
                       const struct included *brought, bool *ret_yes, struct err *err);

/* Appends the paths that differ between two commits, each with a NUL behind it; a rename is two. */
int commit_paths(const struct git_place *at, const char *from, const char *to, struct buf *out,
                 struct err *err);

#endif
