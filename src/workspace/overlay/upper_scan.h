/*
 * Finds files of an overlay workspace (workspace/overlay/layers.h) that may be uncommitted. The
 * upper folder contains everything that was written, changed or deleted, so we look at nothing
 * else. The result is a struct work_scan, as if we had looked at every file.
 */
#ifndef WORKSPACE_OVERLAY_UPPER_SCAN_H
#define WORKSPACE_OVERLAY_UPPER_SCAN_H

#include "base/own.h"
#include "base/vec.h"
#include "git/format/index.h"
#include "git/tree/work_scan.h"

/* struct tracked: the paths in an index. Workspaces with equal indexes share one. */
struct tracked {
    struct git_index index;
    VEC(const char *) paths; /* sorted; they point into the index */
    bool no_attributes;      /* none of them is called .gitattributes */
};

#define TRACKED_INIT                                                                               \
    {                                                                                              \
        .index = {.bytes = BUF_INIT, .name = BUF_INIT }                                            \
    }

/* Fails if the index does not match that tree (a hexadecimal id) or contains more than plain
 * files. Call tracked_close() in every case. */
bool tracked_open(struct tracked *t, const char *index, const char *tree);
void tracked_close(struct tracked *t);
#define autotracked own_cleanup(tracked_close)

/* Like work_scan_open(), for the work tree of an upper folder. Also false if folders were renamed
 * and in similar cases: then scan the work tree itself. */
bool upper_scan_open(struct work_scan *s, const char *upper, const struct tracked *t);

#endif
