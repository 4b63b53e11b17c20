/*
 * struct disk_use: what trees take on the disk, by their blocks, as du(1) counts them. A file with
 * several names counts once in all that is added to one struct. Symlinks are not followed, and what
 * is mounted below a tree is not looked into. Blocks that files share (reflinks, snapshots) count
 * for each of them.
 */
#ifndef SYS_FS_DISK_USE_H
#define SYS_FS_DISK_USE_H

#include "base/arena.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

struct disk_use {
    int64_t bytes, files; /* folders and all else count as files too */
    bool partial;         /* there was something that could not be looked at: it is more */
    struct arena arena;   /* holds the keys of: */
    struct map seen;      /* files that may be met again */
};

#define DISK_USE_INIT ((struct disk_use){0})

void disk_use_done(struct disk_use *u);
#define autodiskuse own_cleanup(disk_use_done)

/* Adds a file, or a folder with all that is in it. What is not there, or vanishes meanwhile, takes
 * nothing. */
void disk_use_add(struct disk_use *u, const char *path);

#endif
