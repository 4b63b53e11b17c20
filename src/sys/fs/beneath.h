/*
 * Opens paths that a hostile process may change meanwhile. No call follows a symlink anywhere.
 * Callers then work in the folder that is open, not on its path.
 *
 * We use openat2() if the kernel has it, and otherwise open folder by folder.
 */
#ifndef SYS_FS_BENEATH_H
#define SYS_FS_BENEATH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens `path` below an open folder; "" is the folder itself. Refuses symlinks, also as the last
 * part, and paths that leave the folder. Returns -1 with errno. `mode` is for O_CREAT. */
int beneath_open(int folder, const char *path, int flags, mode_t mode);

/* The same for a folder that is only used as the start of other calls. */
int beneath_at(int folder, const char *path);

/* The same for the entry `name` of an open folder, if that is a folder on the same mount. */
int beneath_enter(int folder, const char *name);

/* Opens the parent folder of a path below an open one. *ret_name is the last part of the path. */
int beneath_parent(int folder, const char *path, const char **ret_name);

/* True if there is nothing in an open folder. */
bool beneath_is_empty(int folder);

/* Renames an entry of an open folder, perhaps into another one. Replaces nothing. Returns -1 with
 * errno. */
int beneath_rename(int folder, const char *name, int to, const char *as);

/* A path to an open folder for this process, independent of the folder's name; empty if the system
 * has none. */
enum { BENEATH_NAME = 32 };
void beneath_name(int fd, char ret[BENEATH_NAME]);

/* Changes the mode of a folder below an open one. Never changes a folder that a symlink points
 * to. */
int beneath_chmod(int folder, const char *path, mode_t mode);

/* Opens a folder by a path without symlinks; refuses any other path. A relative path begins in our
 * own folder. */
int beneath_folder(const char *path, int *ret_fd, struct err *err);

/* Likewise opens the parent folder of such a path. */
int beneath_folder_of(const char *path, int *ret_fd, const char **ret_name, struct err *err);

/* Resolves the symlinks in the part of the path that exists, so that we can create the rest
 * later. */
char *beneath_real(const char *path);

/* Identifies a file or folder, even after someone renames it. */
struct file_id {
    dev_t dev;
    ino_t ino;
};

int file_id_of(int fd, struct file_id *ret);

/* True if that file or folder has the name in an open folder (AT_FDCWD: our own). Follows no
 * symlink. */
bool file_id_is_at(const struct file_id *id, int folder, const char *name);

/* When the entry was made, in ns; 0: unknown. No program can change it. An empty name is the open
 * folder itself. */
int64_t file_birth(int folder, const char *name);

#endif
