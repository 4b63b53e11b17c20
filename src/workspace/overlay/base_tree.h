/*
 * struct base_tree: the files of one commit as git checks them out. Overlay workspaces show these
 * files without having copies of them. They are in our folder of the repository:
 *
 *     pristine/<commit>/tree     the files; nobody changes them while anyone uses the tree
 *     pristine/<commit>/index    git's index of the files, with their stat data
 *     pristine/<commit>/lock     everyone who uses the tree holds a shared lock on this file
 *     pristine/<commit>/below    only in a delta (base_tree_delta.h): the commit of the base tree
 *                                below it; the two share one lock file
 *
 * A base tree stays when its users are gone. For another commit we update an unused base tree: the
 * time depends on the difference alone. Then we remove the other unused ones. If all are in use,
 * we write a delta over one of them.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_H
#define WORKSPACE_OVERLAY_BASE_TREE_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct base_tree {
    char *dir, *commit; /* NULL: no base tree */
    int lock;           /* nobody changes the files while we hold this open */
};

#define BASE_TREE_INIT                                                                             \
    {                                                                                              \
        .lock = -1                                                                                 \
    }
void base_tree_done(struct base_tree *p);
#define autobase_tree own_cleanup(base_tree_done)

/* Locks the base tree of a commit. *ret_there is false if there is none, if somebody has changed
 * it since git wrote it, or if it contains more than files (submodules). With `made_now` (we have
 * just made it from nothing) its files are not checked again. `at` is the repository, state_dir
 * our folder in it. */
int base_tree_take(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, bool made_now, bool *ret_there, struct err *err);

/* A base tree that we are writing. */
struct base_tree_draft {
    char *dir, *commit;
    char *from;    /* the commit whose files it has so far, or NULL: it is empty */
    bool is_delta; /* it is a delta over that commit's base tree: base_tree_index_below() */
    int lock;
};

#define BASE_TREE_DRAFT_INIT                                                                       \
    {                                                                                              \
        .lock = -1                                                                                 \
    }

/* Removes the draft if it was not finished. */
void base_tree_draft_done(struct base_tree_draft *d);
#define autodraft own_cleanup(base_tree_draft_done)

/* Begins a draft. Unless it is to be `fresh`, the draft takes over the files of a base tree that
 * nobody uses. Appends folders that nobody needs any more to ret_left, for the caller to delete. */
int base_tree_begin(struct base_tree_draft *d, const char *state_dir, const char *commit,
                    bool fresh, struct strv *ret_left, struct err *err);

/* Begins a delta over a base tree that others may use; false if there is no such base tree.
 * base_tree_update() writes the delta. */
bool base_tree_begin_delta(struct base_tree_draft *d, const char *state_dir, const char *commit);

/* The index of the base tree below a delta. */
char *base_tree_index_below(const struct base_tree_draft *d);

/* argv and environment of the git command that writes the files; the caller runs it. */
void base_tree_fill(const struct base_tree_draft *d, const struct git_place *at, struct strv *argv,
                    struct strv *env);

/* Call this after git has written the files: now base_tree_take() finds the base tree. If another
 * process has finished the same base tree in the meantime, that one counts and *ret_ours is false.
 */
int base_tree_finish(struct base_tree_draft *d, bool *ret_ours, struct strv *ret_left,
                     struct err *err);

/* All of these steps, waiting for git. Deletes what nobody needs any more. */
int base_tree_make(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, struct err *err);

/* True if the folder of that name is a finished base tree, not a draft. */
bool base_tree_is_finished(const char *name);

char *base_tree_tree(const struct base_tree *p);

/* The files of the base tree below a delta; NULL if it is not a delta. */
char *base_tree_tree_below(const struct base_tree *p);

char *base_tree_index(const struct base_tree *p);

/* Copies the index to a path that must not exist. */
int base_tree_copy_index(const struct base_tree *p, const char *to, struct err *err);

/* True if a file ends with the same checksum as the index, so their contents are equal. */
bool base_tree_is_index(const struct base_tree *p, const char *path);

#endif
