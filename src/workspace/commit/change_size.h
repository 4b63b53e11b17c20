/*
 * Measures a change before git stores it: files of a work tree that differ from its index,
 * including new files but not ignored ones.
 */
#ifndef WORKSPACE_COMMIT_CHANGE_SIZE_H
#define WORKSPACE_COMMIT_CHANGE_SIZE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of a change; 0: no limit. */
struct change_bounds {
    int64_t files, bytes;
};

enum { CHANGE_NAMES = 20 };

struct change_size {
    int64_t files, bytes;
    bool over;
    struct buf fits;   /* if `over`: the paths that fit, each followed by a NUL; ... */
    struct strv left;  /* ... the first few of those that do not fit; ... */
    size_t left_count; /* ... and their number and total size */
    int64_t left_bytes;
};

#define CHANGE_SIZE_INIT                                                                           \
    {                                                                                              \
        .fits = BUF_INIT                                                                           \
    }
void change_size_done(struct change_size *s);
#define autochangesize own_cleanup(change_size_done)

/* True if that many files and bytes exceed the bounds. */
bool change_is_over(const struct change_bounds *bounds, int64_t files, int64_t bytes);

/* "N files with 3.2 GiB, more than limits.change allows (100,000 files, 2.0 GiB)". */
void change_say(const struct change_bounds *bounds, int64_t files, int64_t bytes, struct buf *out);

/* Compares the work tree of `at` with its index. This takes one git process, which reads no
 * contents. If the change is over the bounds, the smallest files fit first. */
int change_measure(const struct git_place *at, const struct change_bounds *bounds,
                   struct change_size *ret, struct err *err);

/* Adds up the present sizes of paths (each followed by a NUL) in a work tree. A missing file
 * counts as empty. */
int change_add_up(const char *work_tree, const struct buf *paths, struct change_size *ret,
                  struct err *err);

#endif
