/*
 * struct memory_fill: the files of a small work tree as git has just checked them out, kept in
 * memory: the next workspaces that begin at the same commit are filled from it, without a process
 * each. What git does to content on its way out (filters, line ends) is in it by that.
 *
 * For large trees one process is quicker than so many files written in turn here, and memory is not
 * the place for them.
 */
#ifndef WORKSPACE_FILL_MEMORY_FILL_H
#define WORKSPACE_FILL_MEMORY_FILL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <sys/types.h>

struct memory_fill_file {
    const char *path;  /* from the top of the work tree */
    size_t entry;      /* where its entry is in the index */
    mode_t mode;       /* a symlink's content is where it leads */
    size_t start, len; /* of its content */
};

struct memory_fill {
    struct buf index, contents, paths;
    VEC(struct memory_fill_file) files;
    size_t id_len; /* in digits */
};

#define MOULD_INIT                                                                                 \
    {                                                                                              \
        .index = BUF_INIT, .contents = BUF_INIT, .paths = BUF_INIT                                 \
    }

void memory_fill_done(struct memory_fill *m);

/* Takes what a workspace, in which nobody has worked yet, is filled with. False where it is too
 * much, or holds what is not just files (submodules). The ids have so many digits. */
bool memory_fill_take(struct memory_fill *m, const struct workspace *ws, size_t id_len);

/* Fills a workspace that was made just now. */
int memory_fill_fill(const struct memory_fill *m, const struct workspace *ws, struct err *err);

#endif
