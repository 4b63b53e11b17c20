/*
 * Folders: making them with their parents, removing them with their contents, and locks.
 */
#ifndef SYS_FS_DIRS_H
#define SYS_FS_DIRS_H

#include "base/err.h"

/* Makes a folder and its missing parents, with mode 0700. */
int dirs_make(const char *path, struct err *err);

/* The same for folders that others may read, as far as the umask allows. */
int dirs_make_open(const char *path, struct err *err);

/* Checks that dirs_make() would succeed and that we could make files in the folder, without doing
 * so. ERR_INPUT if not. */
int dirs_check(const char *path, struct err *err);

/* Removes a file, or a folder with its contents, like remove_tree() (remove.h). A symlink on the
 * way to it is ERR_ENV. */
int dirs_remove(const char *path, struct err *err);

/* Removes a file or symlink, in a place where agents write. A folder of that name may be anybody's:
 * it stays, and we fail with ERR_ENV. A missing file is no failure. */
int dirs_remove_file(const char *path, struct err *err);

/* Removes the entries of a folder whose names have this beginning and ending, with their contents.
 * A missing folder has no entries. */
int dirs_remove_entries(const char *path, const char *beginning, const char *ending,
                        struct err *err);

/* Calls fn with each name in a folder until fn fails. A missing folder has no names. */
typedef int dirs_each_fn(void *ctx, const char *dir, const char *name, struct err *err);
int dirs_each(const char *path, dirs_each_fn *fn, void *ctx, struct err *err);

/* Removes all files with this ending in a folder and its subfolders. */
int dirs_remove_endings(const char *path, const char *ending, struct err *err);

/* Opens and locks a file exclusively; closing the descriptor releases the lock. Any process of the
 * user may hold it, so we wait for at most a minute (sys/time_limits.h), and then fail with
 * ERR_ENV. */
int dirs_lock(const char *path, int *ret_fd, struct err *err);

/* The same for a lock that others hold while they copy or delete trees: we wait for at most half an
 * hour. */
int dirs_lock_long(const char *path, int *ret_fd, struct err *err);

/* The same without waiting: *ret_fd is -1 if someone else has the lock. */
int dirs_try_lock(const char *path, int *ret_fd, struct err *err);

/* The same for a shared lock: several processes may have it while nobody has the exclusive one. */
int dirs_try_share_lock(const char *path, int *ret_fd, struct err *err);

/* The same if the file exists, else *ret_fd is -1. Retries for a moment: another process that looks
 * whether the lock is free holds it briefly. */
int dirs_share_lock(const char *path, int *ret_fd, struct err *err);

/* The same as dirs_lock(), but waits without a limit. After a second it calls `waiting` (may be
 * NULL) with the name of the holder. ERR_ENV if a signal asks us to stop (sys/interrupt.h). */
int dirs_await_lock(const char *path, const char *whom, void (*waiting)(const char *whom),
                    int *ret_fd, struct err *err);

#endif
