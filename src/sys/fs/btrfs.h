/*
 * Folders that the file system can copy and delete as a whole, at once, however large they are:
 * subvolumes of btrfs and their snapshots. In a snapshot a file has the same inode number and times
 * as in the original. The two share their blocks until one of them is written to. Nothing is
 * mounted: to everyone else they are folders, except that nobody can rename or link a file from one
 * to another.
 *
 * On other systems and file systems every call fails with ERR_ENV. (macOS can clone any folder with
 * clonefile(2): there we could make a plain folder and clone it. But cloned files have other inode
 * numbers.)
 */
#ifndef SYS_FS_BTRFS_H
#define SYS_FS_BTRFS_H

#include "base/err.h"

#include <stdbool.h>

/* Makes an empty subvolume with mode 0700. Its parent must exist. */
int btrfs_make(const char *path, struct err *err);

/* Makes a snapshot of the subvolume at `of`. Subvolumes inside of it become empty folders in the
 * snapshot. */
int btrfs_snapshot(const char *of, const char *path, struct err *err);

/* True if the file system of a folder is btrfs. */
bool btrfs_fits(const char *dir);

/* True if the path is a subvolume; false for a symlink to one. */
bool btrfs_is(const char *path);

/* Deletes a subvolume with its contents, at once. False if that fails: it is no subvolume, it has
 * subvolumes inside, or the file system allows it only to root. dirs_remove() tries this first. If
 * it fails, it deletes the contents first, which everyone may do. */
bool btrfs_drop(const char *path);

/* The same for an entry of an open folder (AT_FDCWD: a path). */
bool btrfs_drop_at(int at, const char *path);

/* The same for an open subvolume, whatever its name is now. `at` and `name` are its present place:
 * older kernels delete it by name. */
bool btrfs_drop_open(int fd, int at, const char *name);

/* Checks that snapshots of subvolumes in `from` can be made in `to`. We make one in `from` and
 * remove it again. *ret_drop is true if btrfs_drop() works. */
int btrfs_try(const char *from, const char *to, bool *ret_drop, struct err *err);

#endif
