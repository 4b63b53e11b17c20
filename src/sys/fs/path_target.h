/*
 * Where a path leads.
 */
#ifndef SYS_FS_PATH_TARGET_H
#define SYS_FS_PATH_TARGET_H

/* The file that writing to an absolute path would change or make: symlinks followed, also one that
 * leads to nothing yet; what does not exist is taken as it is written. For the caller to free. NULL
 * where links lead in a circle, or cannot be read. */
char *path_target(const char *path);

#endif
