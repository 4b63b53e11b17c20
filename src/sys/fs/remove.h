/*
 * Removing a folder with all that is in it, whatever an agent has made there: folders in folders
 * without end, files that nobody may delete, names that are exchanged while we work.
 */
#ifndef SYS_FS_REMOVE_H
#define SYS_FS_REMOVE_H

#include "base/err.h"

/* Removes the entry `name` of the open folder `at` (AT_FDCWD: name is a path), and if it is a
 * folder all that is in it. It follows no symlink, enters no other mount, needs no more than some
 * descriptors however deep the folders are, and calls nothing recursively. It makes folders
 * writable, and removes subvolumes (btrfs.h). An entry that is not there is no failure.
 *
 * What cannot be removed does not keep it from the rest: the error names the first such path, says
 * how many more there are and, where files are immutable, what helps. `shown` is the path of the
 * entry as messages have it. */
int remove_tree(int at, const char *name, const char *shown, struct err *err);

#endif
