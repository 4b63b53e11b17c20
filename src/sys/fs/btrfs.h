/*
 * Folders that the file system itself can copy as a whole, in no time whatever is in them, and
 * delete likewise: subvolumes of btrfs and their snapshots. In a snapshot a file has the inode
 * number and the times that it has in the original; the two share their blocks until one is written
 * to. Nothing is mounted: to everyone else they are folders, except that a file cannot be renamed
 * or linked into another one.
 *
 * On other systems and file systems all of it is ERR_ENV. (A system that can clone any folder, as
 * macOS does with clonefile(2), would make a plain folder here and clone it there; but files that
 * are cloned so have other inode numbers.)
 */
#ifndef SYS_FS_BTRFS_H
#define SYS_FS_BTRFS_H

#include "base/err.h"

#include <stdbool.h>

/* Makes an empty one, for us alone (0700). Its parent must be there. */
int btrfs_make(const char *path, struct err *err);

/* Makes a copy of the one at `of`, less others that are inside of it, which are empty folders in
 * the copy. */
int btrfs_snapshot(const char *of, const char *path, struct err *err);

/* Whether they can be made in a folder, for all that its file system's name says. */
bool btrfs_fits(const char *dir);

/* Whether there is one at a path; a symlink to one is none. */
bool btrfs_is(const char *path);

/* Deletes the one at a path with all that is in it, at once. False where that cannot be done: it is
 * none, it has others inside, or the file system lets only root do it. dirs_remove() begins with
 * this, and goes on by deleting what is inside first, which everyone may. */
bool btrfs_drop(const char *path);

/* The same for one that an open folder has an entry for (AT_FDCWD: a path). */
bool btrfs_drop_at(int at, const char *path);

/* Whether copies of those in one folder can be made in another; by making one, in the first, where
 * nothing of it is left. *ret_drop is whether btrfs_drop() works. */
int btrfs_try(const char *from, const char *to, bool *ret_drop, struct err *err);

#endif
