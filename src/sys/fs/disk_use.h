/*
 * struct disk_use: the disk space of trees in blocks, as du(1) counts it. A file with several names
 * counts once per struct. We do not follow symlinks or enter mounts below a tree. Blocks that files
 * share (reflinks, snapshots) count for each file.
 */
#ifndef SYS_FS_DISK_USE_H
#define SYS_FS_DISK_USE_H

#include "base/arena.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

struct disk_use {
    int64_t bytes, files; /* folders and everything else count as files too */
    bool partial;         /* we could not look at everything: the real values are larger */
    struct arena arena;   /* holds the keys of `seen` */
    struct map seen;      /* files with several names */
};

#define DISK_USE_INIT ((struct disk_use){0})

void disk_use_done(struct disk_use *u);
#define autodiskuse own_cleanup(disk_use_done)

/* Adds a file, or a folder with its contents. A missing or vanishing entry adds nothing. */
void disk_use_add(struct disk_use *u, const char *path);

#endif
