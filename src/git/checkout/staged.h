/*
 * struct staged: a snapshot of what is staged in the index of the user's checkout, and of the files
 * that git does not check there (assume-unchanged, skip-worktree).
 *
 * A check reads the index if the file has changed. It asks git (one process) only if the index has
 * another tree than HEAD: then something is staged.
 */
#ifndef GIT_CHECKOUT_STAGED_H
#define GIT_CHECKOUT_STAGED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <sys/stat.h>

struct staged {
    const struct git_repo *repo;
    struct git_batch *batch;
    size_t id_len;
    struct stat index;
    struct strv lines;  /* "MODE MODE ID ID STATUS", each followed by its path */
    struct strv unseen; /* sorted */
    struct buf first;   /* the index at the first check, if something was staged then */
};

enum { STAGED_INDEX_MAX = 8 << 20 }; /* we keep an index of at most this size */

struct staged_change {
    struct strv staged;   /* newly staged paths */
    struct strv unstaged; /* no longer staged as they were, and not committed */
    struct strv unseen;   /* paths that git no longer checks */
};
void staged_change_done(struct staged_change *change);
#define autostagedchange own_cleanup(staged_change_done)

/* Makes the first snapshot. The repository and the batch, which belong together, must outlive it.
 * id_len is the length of an id in hexadecimal digits. */
int staged_open(struct staged *s, const struct git_repo *repo, struct git_batch *batch,
                size_t id_len, struct err *err);
void staged_close(struct staged *s);

/* Makes a new snapshot and returns the changes in `ret`, which may be NULL. */
int staged_look(struct staged *s, struct staged_change *ret, struct err *err);

#endif
