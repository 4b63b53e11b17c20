/*
 * struct history: the commits that several tips do not all have in common, read at once. Then we
 * can find out in memory which tip is ahead of which, and where they forked.
 */
#ifndef GIT_MERGE_HISTORY_H
#define GIT_MERGE_HISTORY_H

#include "base/err.h"
#include "base/map.h"
#include "base/strv.h"
#include "base/vec.h"
#include "git/git.h"

#include <stddef.h>
#include <stdint.h>

struct history_commit {
    char *id;
    uint32_t first,
        n; /* its parents are n entries of `parents`, without those that all tips have */
    uint32_t marks;
};

struct history {
    VEC(struct history_commit) commits;
    VEC(uint32_t) parents;
    struct map by_id;       /* index in `commits`, plus one */
    VEC(uint32_t) to_visit; /* commits to visit during a walk */
};

/* Asks git, twice. Tips are full commit ids. Call history_done() in every case. */
int history_read(struct history *h, const struct git_place *at, const struct strv *tips,
                 struct err *err);
void history_done(struct history *h);
#define autohistory own_cleanup(history_done)

/* Counts the commits that only `tip` has and those that only `of` has. Both are tips. */
void history_count(struct history *h, const char *tip, const char *of, size_t *ret_ahead,
                   size_t *ret_behind);

/* The one commit at which a tip forked from the n others; NULL if there is none or more than
 * one. */
const char *history_fork(struct history *h, const char *tip, const char *const *others, size_t n);

#endif
