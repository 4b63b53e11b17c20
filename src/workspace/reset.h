/*
 * Making a work tree again what its index says, where a scan has told what differs: a few files are
 * written anew and a few deleted, and nothing else is looked at, however large the tree is.
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
    const char *index; /* what it is to be again; of version 2, and with the digits of an id ... */
    size_t id_len;
    const char *to; /* ... and where that is written with the new stat data: no file yet */
};

/* The scan was made of this tree and that index, nobody has worked in the tree since, and git takes
 * all files as they are. False where git must do it, from whatever has become of the tree by then:
 * a folder is gone, there is much to be written or deleted, something failed. */
bool workspace_reset(const struct workspace_reset_job *job, const struct work_scan *scan);

#endif
