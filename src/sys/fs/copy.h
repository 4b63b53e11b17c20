/*
 * Copying from below one folder to the same places below another. Where the file system can, a copy
 * shares its blocks with the original until one of them is written to.
 *
 * Symlinks are copied as they are and never followed, neither at the end of a path nor on the way
 * to it, on neither side. Modes and times are kept. What is in the way stays as it is; what is
 * neither file, folder nor symlink is left out, and so is what has vanished meanwhile.
 */
#ifndef SYS_FS_COPY_H
#define SYS_FS_COPY_H

#include "base/err.h"

#include <stdint.h>

struct copy;

struct copy_count {
    int64_t files;         /* symlinks too */
    int64_t bytes, cloned; /* of which `cloned` are shared with the originals */
};

int copy_open(struct copy **ret, const char *from, const char *to, struct err *err);

/* Copies a file, a symlink or, where the path ends with a slash, a folder with all that is in it,
 * less the worktrees and submodules below: their `.git` files must not exist twice. */
int copy_path(struct copy *c, const char *path, struct err *err);

/* Makes the folder at a path, as the original is, and those above it; nothing that is in it. */
int copy_folder(struct copy *c, const char *path, struct err *err);

/* Whether two files in a folder can share their blocks; tried on two without names. */
int copy_can_share(const char *dir, struct err *err);

struct copy_count copy_count(const struct copy *c);

/* Gives the folders that were made their modes and times, and releases everything, also where that
 * fails. NULL is fine. */
int copy_close(struct copy *c, struct err *err);

#endif
