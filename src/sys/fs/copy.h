/*
 * Copies entries of one folder to the same paths below another folder. If the file system can, a
 * copy shares its blocks with the original until one of them is written to.
 *
 * We copy symlinks as they are and never follow them: neither at the end of a path nor on the way,
 * on neither side. We keep modes and times. We do not overwrite existing entries. We skip entries
 * that are neither file, folder nor symlink, and entries that vanish meanwhile.
 */
#ifndef SYS_FS_COPY_H
#define SYS_FS_COPY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct copy;

struct copy_count {
    int64_t files;         /* symlinks count too */
    int64_t bytes, cloned; /* `cloned` counts the bytes that a copy shares with its original */
};

int copy_open(struct copy **ret, const char *from, const char *to, struct err *err);

/* Copies a file, a symlink or, if the path ends with a slash, a folder with its contents. It skips
 * worktrees and submodules below that folder: their `.git` files must not exist twice. */
int copy_path(struct copy *c, const char *path, struct err *err);

bool copy_is_linked_worktree(const char *dir);

/* Makes the folder at a path and its parents, with the modes and times of the originals. Copies
 * nothing in it. */
int copy_folder(struct copy *c, const char *path, struct err *err);

/* Succeeds if two files in a folder can share their blocks. We try it with two unnamed files. */
int copy_can_share(const char *dir, struct err *err);

struct copy_count copy_count(const struct copy *c);

/* Sets the modes and times of the folders that were made, and frees everything, even on failure.
 * NULL is fine. */
int copy_close(struct copy *c, struct err *err);

#endif
