/*
 * What anabranch has on the disk in a repository, by looking at it: nothing is asked of a run, and
 * nothing is locked.
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
    DISK_WORKSPACES, /* of tasks, of runs that go on and of those that have ended */
    DISK_LEAVING,    /* what is out of use, and deleted in the background or by the next one */
    DISK_PRISTINE,   /* trees that workspaces are made of */
    DISK_SHARED,     /* folders that workspaces show, kept between runs */
    DISK_LOGS,       /* the folders of runs */
    DISK_VAULT,      /* the copies of saved work */
    DISK_STORE,
    DISK_PART_COUNT_,
};

struct disk_share {
    size_t count; /* of workspaces, trees, runs, files */
    int64_t bytes;
    bool partial;     /* some of it could not be looked at: it takes more */
    struct buf place; /* where it is, or the first of it; empty where there is none */
};

/* Outside a repository (repo->root is NULL) only what was run in the current folder is found. */
int disk_look(const struct git_repo *repo, enum disk_part part, struct disk_share *ret,
              struct err *err);
void disk_share_done(struct disk_share *share);

/* What makes it go, for people. */
const char *disk_end(enum disk_part part);

#endif
