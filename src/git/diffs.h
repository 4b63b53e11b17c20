/*
 * struct diffs: what differs between two commits, as a patch, for many pairs: one git process that
 * stays answers for all of them. What it would take too much room to show is cut.
 */
#ifndef GIT_DIFFS_H
#define GIT_DIFFS_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/proc/coproc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diffs {
    const char *git_dir;
    struct coproc proc;
};

struct diff {
    size_t files;           /* that differ */
    int64_t added, removed; /* lines, of those that are text */
    bool cut;               /* the patch goes on behind what is given of it */
};

void diffs_init(struct diffs *d, const char *git_dir); /* keeps the name of the folder */
void diffs_done(struct diffs *d);

enum { DIFF_LINE = 16 };

/* Appends at most max bytes of the patch from one commit to another, whole lines of whatever bytes
 * the files have; and not more lines than there would be of DIFF_LINE bytes each, because whoever
 * shows them needs room for a line as such. A file of more than a MiB counts as one that has no
 * lines. After a failure the next call begins anew. */
int diffs_get(struct diffs *d, const char *from, const char *to, size_t max, struct diff *ret,
              struct buf *patch, struct err *err);

#endif
