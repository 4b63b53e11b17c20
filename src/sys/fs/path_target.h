/*
 * Resolves paths to the file that a write would change.
 */
#ifndef SYS_FS_PATH_TARGET_H
#define SYS_FS_PATH_TARGET_H

/* Returns the file that writing to an absolute path would change or make. Follows symlinks, also a
 * link to a missing file. Takes missing parts as they are written. The caller frees it. NULL if
 * links form a cycle or cannot be read. */
char *path_target(const char *path);

#endif
