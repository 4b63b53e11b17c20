/*
 * Updates the copy of a folder to its original. It takes the time to look at both.
 *
 * We walk the two side by side. An entry stays if kind, mode, size, modification time and (of a
 * symlink) target agree. We copy other entries again, and remove entries that the original does not
 * have. We never write to an existing file: we remove it and make a new one. sys/fs/copy.h says
 * which entries are copied.
 *
 * Some programs set the times of files as they like. So if two files agree but one of them changed
 * since the last call, by its ctime, we compare their bytes too.
 */
#ifndef SYS_FS_DIR_SYNC_H
#define SYS_FS_DIR_SYNC_H

#include "base/err.h"
#include "sys/fs/copy.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct dir_sync_count {
    int64_t files, bytes;     /* of the copy; symlinks count too */
    struct copy_count copied; /* the part that this call copied */
};

struct dir_sync {
    const char *from, *to;   /* folders */
    const char *path;        /* path of the folder to copy, below both */
    struct timespec looked;  /* when the originals were last read; 0: never */
    struct timespec changed; /* nobody should have changed the copy since then; 0: unknown */
    bool look;               /* change nothing: stop at the first difference */
    int (*before)(void *ctx, struct err *err); /* called before the first change */
    void (*progress)(void *ctx, const struct dir_sync_count *so_far); /* after each file; or NULL */
    void *ctx;
};

/* *ret_same is true if nothing changed except times of folders. If the call fails, a part of the
 * work may be done, and the next call continues. */
int dir_sync_run(const struct dir_sync *m, struct dir_sync_count *ret, bool *ret_same,
                 struct err *err);

#endif
