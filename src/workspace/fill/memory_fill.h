/*
 * struct memory_fill: the files of a small work tree as git has just checked them out, kept in
 * memory. We fill the next workspaces at the same commit from it without starting git. The
 * contents already include what git changes at checkout (filters, line ends).
 *
 * We do not use it for large trees: they take too much memory, and one git process is faster than
 * writing so many files one after the other.
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
    size_t entry;      /* offset of its entry in the index */
    mode_t mode;       /* of a symlink: the content is its target */
    size_t start, len; /* of its content in `contents` */
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

/* Reads the files of a workspace in which nobody has worked yet. False if they are too many or too
 * large, or if there are entries other than files (submodules). Ids have that many digits. */
bool memory_fill_take(struct memory_fill *m, const struct workspace *ws, size_t id_len);

/* Fills a new workspace. */
int memory_fill_fill(const struct memory_fill *m, const struct workspace *ws, struct err *err);

#endif
