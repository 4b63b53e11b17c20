/*
 * Removes a folder with its contents, whatever an agent has made in it: endless nesting, files that
 * nobody may delete, names that someone swaps while we work.
 */
#ifndef SYS_FS_REMOVE_H
#define SYS_FS_REMOVE_H

#include "base/err.h"
#include "sys/fs/beneath.h"

/* Removes the entry `name` of the open folder `at` (AT_FDCWD: name is a path), and the contents if
 * it is a folder. It follows no symlink and enters no other mount. It needs only a few descriptors
 * and no recursion, however deep the folders are. It makes folders writable, and removes subvolumes
 * (btrfs.h). A missing entry is no failure.
 *
 * If an entry cannot be removed, we continue with the rest. The error names the first such path and
 * the number of further ones. If files are immutable, it says how to remove them. `shown` is the
 * path of the entry in messages. */
int remove_tree(int at, const char *name, const char *shown, struct err *err);

/* The same for a folder, but only if it still is the folder `id`: something else of that name
 * stays, and we fail with ERR_ENV. From then on we work in the open folder, so nobody can exchange
 * it. */
int remove_known_tree(int at, const char *name, const struct file_id *id, const char *shown,
                      struct err *err);

#endif
