/*
 * Folders: made with their parents, removed with their contents, locked.
 */
#ifndef SYS_FS_DIRS_H
#define SYS_FS_DIRS_H

#include "base/err.h"

/* Makes a folder and those above it that are missing, for us alone (0700). */
int dirs_make(const char *path, struct err *err);

/* The same for what others may look into, as far as the umask lets them. */
int dirs_make_open(const char *path, struct err *err);

/* Whether dirs_make() would succeed and files could be made in the folder, without doing either;
 * ERR_INPUT if not. */
int dirs_check(const char *path, struct err *err);

/* Removes a file, or a folder with all that is in it, as remove_tree() (remove.h) says. A symlink
 * on the way to it is ERR_ENV. */
int dirs_remove(const char *path, struct err *err);

/* Removes, with all that is in them, the entries of a folder whose names begin and end so. A folder
 * that is not there has none. */
int dirs_remove_entries(const char *path, const char *beginning, const char *ending,
                        struct err *err);

/* Calls fn with each name in a folder until it fails. A folder that is not there has none. */
typedef int dirs_each_fn(void *ctx, const char *dir, const char *name, struct err *err);
int dirs_each(const char *path, dirs_each_fn *fn, void *ctx, struct err *err);

/* Removes the files in a folder, and in those below it, whose names end so. */
int dirs_remove_endings(const char *path, const char *ending, struct err *err);

/* Opens and locks a file for us alone; the lock goes with the descriptor. Any process of the user
 * can hold it, so we wait for a minute at most (sys/time_limits.h); after that it is ERR_ENV. */
int dirs_lock(const char *path, int *ret_fd, struct err *err);

/* The same for a lock that others hold while they copy or delete trees: half an hour at most. */
int dirs_lock_long(const char *path, int *ret_fd, struct err *err);

/* The same without waiting: *ret_fd is -1 where someone else has it. */
int dirs_try_lock(const char *path, int *ret_fd, struct err *err);

/* The same for a lock that several may have, none of whom wants it alone. */
int dirs_try_share_lock(const char *path, int *ret_fd, struct err *err);

/* The same as dirs_lock() for a lock that others may have for long: `waiting`, which may be NULL,
 * is told after a second whom we wait for, and ERR_ENV where a signal wants us to stop
 * (sys/interrupt.h). */
int dirs_await_lock(const char *path, const char *whom, void (*waiting)(const char *whom),
                    int *ret_fd, struct err *err);

#endif
