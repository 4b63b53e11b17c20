/*
 * struct history: the commits that some tips do not all have in common, read at once; who is ahead
 * of whom, and from where, is then a question to memory.
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
    uint32_t first, n; /* its parents, in `parents`; those that all tips have are left out */
    uint32_t marks;
};

struct history {
    VEC(struct history_commit) commits;
    VEC(uint32_t) parents;
    struct map by_id;     /* to the place in `commits`, plus one */
    VEC(uint32_t) to_see; /* while it is walked */
};

/* Asks git, twice. Tips are ids of commits, in full. Released with history_done() in every case. */
int history_read(struct history *h, const struct git_place *at, const struct strv *tips,
                 struct err *err);
void history_done(struct history *h);
#define autohistory own_cleanup(history_done)

/* Both are tips: the commits that only `tip` has, and those that only `of` has. */
void history_count(struct history *h, const char *tip, const char *of, size_t *ret_ahead,
                   size_t *ret_behind);

/* The one commit where a tip left the others, of which there are n; NULL where there is none, or
 * more than one. */
const char *history_fork(struct history *h, const char *tip, const char *const *others, size_t n);

#endif
