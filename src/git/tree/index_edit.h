/*
 * Rewrites an index with some entries changed, without git. Only for version 2, which git writes by
 * default. The new index keeps one extension, the known trees of folders, without those trees that
 * the changes affect and for which the caller has no new id.
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
    const char *id; /* hexadecimal; NULL: remove the entry */
    uint32_t mode;  /* as in a tree */
    struct stat st;
};

/* Writes the changed index to a file that must not exist. The changes are sorted by path, and no
 * path may lie below the path of another file. `trees` maps the paths of changed folders (with the
 * slash, "" for the top) to their new binary ids, or is NULL. If the index is of another kind, or
 * lacks an entry that is to be removed, writes nothing and *ret_done is false. */
int index_edit(const struct git_index *index, const struct index_change *changes, size_t n,
               const struct map *trees, const char *to, bool *ret_done, struct err *err);

/* Compares changes by path, for qsort(). */
int index_change_compare(const void *a, const void *b);

#endif
