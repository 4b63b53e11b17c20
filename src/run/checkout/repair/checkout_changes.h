/*
 * The paths that differ between two commits, with their files and index entries in a checkout. For
 * checkout_repair.h and checkout_take_back.h, after a move between the two that stopped halfway.
 */
#ifndef RUN_CHECKOUT_REPAIR_CHECKOUT_CHANGES_H
#define RUN_CHECKOUT_REPAIR_CHECKOUT_CHANGES_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "git/git.h"

#include <stdbool.h>

struct checkout_change {
    const char *mode, *id, *path; /* of the later commit; mode 0: deleted there */
};

struct checkout_changes {
    struct git_place at; /* the user's checkout */
    int root;            /* its folder, open */
    const char *from, *to;
    struct buf listing;              /* holds the strings of `all` */
    VEC(struct checkout_change) all; /* sorted by path */
};
#define CHECKOUT_CHANGES_INIT                                                                      \
    {                                                                                              \
        .root = -1, .listing = BUF_INIT                                                            \
    }
#define autocheckoutchanges own_cleanup(checkout_changes_done)

/* The caller keeps the strings. */
int checkout_changes_open(struct checkout_changes *c, const struct git_place *at, const char *from,
                          const char *to, struct err *err);
void checkout_changes_done(struct checkout_changes *c);

bool checkout_change_is_deleted(const struct checkout_change *change);

/* Adds the entry of the later commit to the input of checkout_changes_write(). */
void checkout_change_add_entry(const struct checkout_change *change, struct buf *out);

/* Writes entries into the index of a place, and removes deleted ones from it. */
int checkout_changes_write(const struct git_place *at, const struct buf *entries, struct err *err);

/* Notes the times of the files in an index. Files may differ from their entries. */
int checkout_changes_refresh(const struct git_place *at, struct err *err);

/* Removes a temporary index, which may not exist. */
int checkout_changes_remove_index(const char *index, struct err *err);

/* Lists the paths whose file differs from the later commit, except those that it deletes. `index`
 * is temporary. */
int checkout_changes_list_files(const struct checkout_changes *c, const char *index,
                                struct buf *ret, struct err *err);

/* Lists all paths whose index entry differs from a commit. */
int checkout_changes_list_entries(const struct checkout_changes *c, const char *commit,
                                  struct buf *ret, struct err *err);

/* Adds paths, each with a NUL at its end, to a set that does not copy them. */
void checkout_changes_add_paths(struct map *set, const struct buf *paths);

/* True if there is no file. False if a symlink is in the way: we follow none, and do not know
 * then. */
bool checkout_changes_is_gone(const struct checkout_changes *c, const char *path);

/* Removes a file that is only the beginning of its content in the later commit. Its whole content
 * is in the commit, and git writes it again. *ret_removed stays as it is if nothing is removed. */
int checkout_changes_remove_partial(const struct checkout_changes *c,
                                    const struct checkout_change *change, bool *ret_removed,
                                    struct err *err);

#endif
