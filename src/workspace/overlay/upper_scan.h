/*
 * What may be uncommitted in a workspace of layers (workspace/overlay/layers.h), by what is in its
 * upper folder: all that was written, changed or deleted is there, and nothing else need be looked
 * at. The result is a struct work_scan, as of one who looked at every file.
 */
#ifndef WORKSPACE_OVERLAY_UPPER_SCAN_H
#define WORKSPACE_OVERLAY_UPPER_SCAN_H

#include "base/own.h"
#include "base/vec.h"
#include "git/format/index.h"
#include "git/tree/work_scan.h"

/* struct tracked: the paths that an index has. Workspaces whose indexes are the same have one. */
struct tracked {
    struct git_index index;
    VEC(const char *) paths; /* sorted; they point into the index */
    bool no_attributes;      /* none of them is called .gitattributes */
};

#define TRACKED_INIT                                                                               \
    {                                                                                              \
        .index = {.bytes = BUF_INIT, .name = BUF_INIT }                                            \
    }

/* False where it is not of that tree (an id, in hexadecimal digits), or has more than plain files.
 * To be released in every case. */
bool tracked_open(struct tracked *t, const char *index, const char *tree);
void tracked_close(struct tracked *t);
#define autotracked own_cleanup(tracked_close)

/* As work_scan_open(), of a work tree whose upper folder that is. False as well where folders were
 * moved, and the like: the work tree itself tells then. */
bool upper_scan_open(struct work_scan *s, const char *upper, const struct tracked *t);

#endif
