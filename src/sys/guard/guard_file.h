/*
 * The file of a guard: who it is, under a lock that it holds as long as it lives.
 */
#ifndef SYS_GUARD_GUARD_FILE_H
#define SYS_GUARD_GUARD_FILE_H

#include "base/err.h"

/* Makes the file, or takes over one that nobody holds any more. The lock is held as long as the
 * descriptor is open, here or in a child that was not made by exec. */
int guard_file_hold(const char *path, int *ret_fd, struct err *err);

#endif
