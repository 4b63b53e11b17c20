/*
 * The file of a guard: it names the guard, and the guard locks it while it lives.
 */
#ifndef SYS_GUARD_GUARD_FILE_H
#define SYS_GUARD_GUARD_FILE_H

#include "base/err.h"

/* Makes the file, or takes over a file that nobody locks. The lock lasts until the descriptor is
 * closed here and in every child that was forked without exec. */
int guard_file_hold(const char *path, int *ret_fd, struct err *err);

#endif
