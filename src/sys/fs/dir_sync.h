/*
 * A copy of a folder that is brought to what the original is now, in the time that it takes to look
 * at both.
 *
 * The two are walked side by side. An entry stays where kind, mode, size, time and, of a symlink,
 * the target agree; others are copied anew, and what the original does not have goes. Nothing is
 * ever written to a file that is there: it is taken away, and another made. What is copied is what
 * sys/fs/copy.h copies.
 *
 * There are programs that give files the time they want. So the bytes are compared of files that
 * agree but were changed, by their own ctime, since the two were last seen to.
 */
#ifndef SYS_FS_DIR_SYNC_H
#define SYS_FS_DIR_SYNC_H

#include "base/err.h"
#include "sys/fs/copy.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct dir_sync_count {
    int64_t files, bytes;     /* that the copy has; symlinks too */
    struct copy_count copied; /* of which so many were copied now */
};

struct dir_sync {
    const char *from, *to;   /* folders */
    const char *path;        /* of the one that is copied, below both */
    struct timespec looked;  /* when the originals were last looked at; 0: never */
    struct timespec changed; /* since when nobody was to change the copy; 0: it is not known */
    bool look;               /* change nothing: stop at the first that differs */
    int (*before)(void *ctx, struct err *err); /* called before the first change */
    void (*progress)(void *ctx, const struct dir_sync_count *so_far); /* after each file; or NULL */
    void *ctx;
};

/* *ret_same is whether nothing had to be changed but times of folders. Where the call fails some of
 * it may be done, and the next one goes on. */
int dir_sync_run(const struct dir_sync *m, struct dir_sync_count *ret, bool *ret_same,
                 struct err *err);

#endif
