/*
 * struct base_tree: the files of one commit as git checks them out, which workspaces show without
 * having them. In the repository's folder of ours:
 *
 *     pristine/<commit>/tree     the files; nothing in it changes while anyone uses it
 *     pristine/<commit>/index    git's index of them, with their stat data
 *     pristine/<commit>/lock     shared by those who use it
 *     pristine/<commit>/below    where the tree is a delta (base_tree_delta.h): the commit of the
 *                                one that it goes over, whose lock is the same file
 *
 * It stays when they have gone. For another commit, one that nobody uses is brought forward, in the
 * time that the difference takes, and others that nobody uses go. Over one that others use goes a
 * delta.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_H
#define WORKSPACE_OVERLAY_BASE_TREE_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct base_tree {
    char *dir, *commit; /* NULL: there is none */
    int lock;           /* as long as this is open nobody changes it */
};

#define PRISTINE_INIT                                                                              \
    {                                                                                              \
        .lock = -1                                                                                 \
    }
void base_tree_done(struct base_tree *p);
#define autopristine own_cleanup(base_tree_done)

/* Takes that of a commit. *ret_there is false where there is none, or where it is not as git wrote
 * it, or holds what is not just files (submodules). Where we have made it this moment, and from
 * nothing, its files are not looked at again. `at` is the repository, state_dir our folder in it.
 */
int base_tree_take(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, bool made_now, bool *ret_there, struct err *err);

/* One in the making. */
struct base_tree_draft {
    char *dir, *commit;
    char *from;    /* the commit that its files are of so far, or NULL: there are none */
    bool is_delta; /* it goes over those, which are elsewhere: base_tree_index_below() */
    int lock;
};

#define PRISTINE_DRAFT_INIT                                                                        \
    {                                                                                              \
        .lock = -1                                                                                 \
    }

/* Takes away what was made of it, where it was not finished. */
void base_tree_draft_done(struct base_tree_draft *d);
#define autodraft own_cleanup(base_tree_draft_done)

/* Begins one, with the files of another that nobody uses unless it is to be `fresh`. Folders that
 * nobody needs any more are appended to ret_left, for the caller to delete. */
int base_tree_begin(struct base_tree_draft *d, const char *state_dir, const char *commit,
                    bool fresh, struct strv *ret_left, struct err *err);

/* Begins a delta, over one that others may use; false where there is none. base_tree_update()
 * writes it. */
bool base_tree_begin_delta(struct base_tree_draft *d, const char *state_dir, const char *commit);

/* The index of the files that a draft goes over. */
char *base_tree_index_below(const struct base_tree_draft *d);

/* argv and environment of the git that writes its files, for the caller to run. */
void base_tree_fill(const struct base_tree_draft *d, const struct git_place *at, struct strv *argv,
                    struct strv *env);

/* git has done so: it can be taken. Where another has made the same meanwhile, that is it, and
 * *ret_ours is false. */
int base_tree_finish(struct base_tree_draft *d, bool *ret_ours, struct strv *ret_left,
                     struct err *err);

/* All of that at once, for who can wait; what nobody needs any more is deleted. */
int base_tree_make(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, struct err *err);

/* Whether a folder of that name is one that can be taken, and not one in the making. */
bool base_tree_is_finished(const char *name);

char *base_tree_tree(const struct base_tree *p);

/* The tree that it goes over, where it is a delta; else NULL. */
char *base_tree_tree_below(const struct base_tree *p);

char *base_tree_index(const struct base_tree *p);

/* Copies the index to a path where there is nothing. */
int base_tree_copy_index(const struct base_tree *p, const char *to, struct err *err);

/* Whether a file ends as the index does: with a hash of what is in it. */
bool base_tree_is_index(const struct base_tree *p, const char *path);

#endif
