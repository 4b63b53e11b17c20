/*
 * Measures the disk space that anabranch uses in a repository. It only looks at files: it asks no
 * run and takes no lock.
 */
#ifndef CLEAN_DISK_USE_H
#define CLEAN_DISK_USE_H

#include "base/buf.h"
#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_part {
    DISK_WORKSPACES, /* of tasks, both of live runs and of ended ones */
    DISK_LEAVING,    /* out of use; deleted in the background or by the next run */
    DISK_BASE_TREES, /* base trees of workspaces */
    DISK_SHARED,     /* folders that workspaces share, kept between runs */
    DISK_LOGS,       /* the folders of runs */
    DISK_VAULT,      /* copies of saved work */
    DISK_STORE,
    DISK_PART_COUNT_,
};

struct disk_share {
    size_t count; /* number of workspaces, trees, runs or files */
    int64_t bytes;
    bool partial;     /* we could not look at all of it: it takes more */
    struct buf place; /* the folder, or the first of several; empty if there is none */
};

/* Outside a repository (repo->root is NULL) we look only at the runs of the current folder. */
int disk_look(const struct git_repo *repo, enum disk_part part, struct disk_share *ret,
              struct err *err);
void disk_share_done(struct disk_share *share);

/* Tells the user what removes this part. */
const char *disk_end(enum disk_part part);

#endif
