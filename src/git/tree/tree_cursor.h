/*
 * struct tree_cursor: walks through the entries of one tree object (git/format/tree.h).
 */
#ifndef GIT_TREE_TREE_CURSOR_H
#define GIT_TREE_TREE_CURSOR_H

#include "git/batch.h"
#include "git/format/tree.h"

#include <stdbool.h>
#include <stddef.h>

struct tree_cursor {
    struct buf bytes; /* of the tree; empty before it is opened */
    size_t id_len, pos;
    struct tree_entry entry; /* the current entry */
    bool has_entry;          /* false: there are no more */
};

#define TREE_CURSOR_INIT                                                                           \
    {                                                                                              \
        .bytes = BUF_INIT                                                                          \
    }

/* Reads the tree that an expression names, and moves to its first entry. id_len is the length of a
 * binary id. */
int tree_cursor_open(struct tree_cursor *c, struct git_batch *batch, const char *tree,
                     size_t id_len, struct err *err);

/* The same for the tree of a commit, and for a folder that is an entry of another tree. */
int tree_cursor_open_commit(struct tree_cursor *c, struct git_batch *batch, const char *commit,
                            size_t id_len, struct err *err);
int tree_cursor_open_entry(struct tree_cursor *c, struct git_batch *batch,
                           const struct tree_entry *folder, size_t id_len, struct err *err);

/* Moves to the next entry. */
int tree_cursor_next(struct tree_cursor *c, struct err *err);

void tree_cursor_done(struct tree_cursor *c);

#endif
