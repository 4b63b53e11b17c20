/*
 * Finds mounts below a folder: a mount shows files of another place there, and whoever empties the
 * folder would delete them.
 */
#ifndef SYS_CONTAIN_MOUNTS_H
#define SYS_CONTAIN_MOUNTS_H

/* The first mount point that we see below a folder, whose path is absolute and has no symlinks. The
 * folder itself does not count. NULL if there is none, or if the system does not tell. The caller
 * frees it. */
char *mount_below(const char *folder);

#endif
