/*
 * Resets a work tree to its index after a scan has found the differences: writes a few files anew
 * and deletes a few, and looks at nothing else, however large the tree is.
 */
#ifndef WORKSPACE_RESET_H
#define WORKSPACE_RESET_H

#include "git/tree/work_scan.h"

#include <stdbool.h>
#include <stddef.h>

struct git_batch;

struct workspace_reset_job {
    struct git_batch *batch;
    const char *work_tree;
    const char *index; /* the index to reset to, of version 2, ... */
    size_t id_len;     /* ... with ids of that many digits */
    const char *to;    /* ... and the file to make: the same index with the new stat data */
};

/* Call it only if the scan is of this tree and index, nobody has worked in the tree since, and git
 * takes all files as they are. Returns false if git must do it, whatever we have already changed
 * in the tree: a folder is gone, too much is to be written or deleted, or something failed. */
bool workspace_reset(const struct workspace_reset_job *job, const struct work_scan *scan);

#endif
