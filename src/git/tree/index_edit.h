/*
 * An index written anew with some of its entries changed, without git. Only of version 2, which git
 * writes unless it is told otherwise; of what is behind the entries the trees that are known of
 * folders stay, less those that the changes touch and that nobody can tell.
 */
#ifndef GIT_TREE_INDEX_EDIT_H
#define GIT_TREE_INDEX_EDIT_H

#include "base/err.h"
#include "base/map.h"
#include "git/format/index.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct index_change {
    const char *path;
    const char *id; /* in digits; NULL: the entry goes */
    uint32_t mode;  /* as in a tree */
    struct stat st;
};

/* Writes what an index is with the changes, which are sorted by path, to a file that must not
 * exist. No path may be in what is a file in another. `trees` has the binary ids that folders have
 * by then, of those that the changes touch, by their paths with the slash, "" for the top; or it is
 * NULL. *ret_done is false, and nothing is written, where the index is of another kind, or an entry
 * is to go that it does not have. */
int index_edit(const struct git_index *index, const struct index_change *changes, size_t n,
               const struct map *trees, const char *to, bool *ret_done, struct err *err);

/* Orders changes by their paths, for qsort(). */
int index_change_compare(const void *a, const void *b);

#endif
