/*
 * struct diffs: the differences between two commits as a patch, for many pairs. One long-lived git
 * process answers for all of them. We cut patches that are too long to show.
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
    size_t files;           /* number of changed files */
    int64_t added, removed; /* lines in text files */
    bool cut;               /* the patch is longer than the part returned */
};

void diffs_init(struct diffs *d, const char *git_dir); /* git_dir must outlive d */
void diffs_done(struct diffs *d);

enum { DIFF_LINE = 16 };

/* Appends at most max bytes of the patch from one commit to another: whole lines with any bytes. It
 * also limits the number of lines to max / DIFF_LINE, because every line takes room when it is
 * shown. A file of more than 1 MiB counts as a file without lines. After a failure the next call
 * starts a new process. */
int diffs_get(struct diffs *d, const char *from, const char *to, size_t max, struct diff *ret,
              struct buf *patch, struct err *err);

#endif
