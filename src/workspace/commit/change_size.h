/*
 * How large a change is that git has yet to take in: what differs in a work tree from its index,
 * new files included, ignored ones not.
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

/* What a change may have; 0: any number. */
struct change_bounds {
    int64_t files, bytes;
};

enum { CHANGE_NAMES = 20 };

struct change_size {
    int64_t files, bytes;
    bool over;
    struct buf fits;   /* where it is over: the paths that fit, each with a NUL behind it ... */
    struct strv left;  /* ... and of those that do not the first few ... */
    size_t left_count; /* ... of so many ... */
    int64_t left_bytes;
};

#define CHANGE_SIZE_INIT                                                                           \
    {                                                                                              \
        .fits = BUF_INIT                                                                           \
    }
void change_size_done(struct change_size *s);
#define autochangesize own_cleanup(change_size_done)

/* Whether so many files and bytes are more than bounds allow. */
bool change_is_over(const struct change_bounds *bounds, int64_t files, int64_t bytes);

/* "N files with 3.2 GiB, more than limits.change allows (100,000 files, 2.0 GiB)". */
void change_say(const struct change_bounds *bounds, int64_t files, int64_t bytes, struct buf *out);

/* Measures the work tree of a place against its index; by one git, which reads no contents. Where
 * it is over, the smallest files fit first. */
int change_measure(const struct git_place *at, const struct change_bounds *bounds,
                   struct change_size *ret, struct err *err);

/* Adds up the sizes that paths (each with a NUL behind it) have in a work tree now; one that is not
 * there has none. */
int change_add_up(const char *work_tree, const struct buf *paths, struct change_size *ret,
                  struct err *err);

#endif
