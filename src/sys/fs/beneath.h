/*
 * Paths that somebody hostile may have changed: they are resolved without following a symlink
 * anywhere, and what is done at their end is done in the folder that is open then.
 *
 * By openat2() where the kernel has it, else folder by folder.
 */
#ifndef SYS_FS_BENEATH_H
#define SYS_FS_BENEATH_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Opens the path `path` below an open folder, "" for the folder itself; what leads out of it, and
 * symlinks, the last part among them, are refused. -1 with errno; `mode` is for O_CREAT. */
int beneath_open(int folder, const char *path, int flags, mode_t mode);

/* The same for a folder that is only a place for other calls. */
int beneath_at(int folder, const char *path);

/* The same for the entry `name` of an open folder, where that is a folder on the same mount. */
int beneath_enter(int folder, const char *name);

/* Opens the folder that a path below an open one is in; *ret_name is its last part. */
int beneath_parent(int folder, const char *path, const char **ret_name);

/* A path by which this process reaches an open folder, whatever its name is; empty where the system
 * has none. */
enum { BENEATH_NAME = 32 };
void beneath_name(int fd, char ret[BENEATH_NAME]);

/* Changes the mode of a folder below an open one: of that folder itself. */
int beneath_chmod(int folder, const char *path, mode_t mode);

/* Opens a folder by a path that has no symlinks in it, or is refused. A relative path begins in our
 * own folder. */
int beneath_folder(const char *path, int *ret_fd, struct err *err);

/* Likewise the folder that the last part of such a path is in. */
int beneath_folder_of(const char *path, int *ret_fd, const char **ret_name, struct err *err);

/* A path without symlinks, as far as there is something of it, for what is made of it later. */
char *beneath_real(const char *path);

/* Which file or folder it is, whatever its name is by now. */
struct file_id {
    dev_t dev;
    ino_t ino;
};

int file_id_of(int fd, struct file_id *ret);

/* Whether that is what has the name in an open folder (AT_FDCWD: our own), as the file or folder
 * itself. */
bool file_id_is_at(const struct file_id *id, int folder, const char *name);

#endif
