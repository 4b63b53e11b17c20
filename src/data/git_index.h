/*
 * git's index, read without git: the tracked files of a work tree, with what their stat data was
 * when git last looked at them. Versions 2, 3 and 4.
 */
#ifndef DATA_GIT_INDEX_H
#define DATA_GIT_INDEX_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct git_index_entry {
    const char *path;                          /* for as long as the callback lasts */
    uint32_t mtime, mtime_ns, ino, mode, size; /* low bits, where the file system has more */
};

/* Calls back for each file that is to be in the work tree, sorted bytewise; submodules, unmerged
 * paths and what git was told not to look at are left out. id_len is that of an id in hexadecimal
 * digits. No file is an empty index; one that is split, damaged or of an unknown kind is ERR_INPUT,
 * and the callback may have been called by then. */
typedef void git_index_fn(void *ctx, const struct git_index_entry *entry);
int git_index_each(const char *path, size_t id_len, git_index_fn *fn, void *ctx, struct err *err);

#endif
