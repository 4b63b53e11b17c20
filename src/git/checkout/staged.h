/*
 * struct staged: what is staged in the index of the user's checkout, and which files git was told
 * not to look at there (assume-unchanged, skip-worktree), as of the last look.
 *
 * A look reads the index if it is another file than it was. git is asked, one process, only where
 * the index has another tree than HEAD: then something is staged.
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
    struct strv lines;  /* "MODE MODE ID ID STATUS" and, behind each, its path */
    struct strv unseen; /* sorted */
    struct buf first;   /* the index of the first look, where something was staged then */
};

enum { STAGED_INDEX_MAX = 8 << 20 }; /* so large an index is kept, and no larger one */

struct staged_change {
    struct strv staged;   /* paths that are staged, and were not */
    struct strv unstaged; /* that were, and are not so any more, nor committed */
    struct strv unseen;   /* that git does not look at any more */
};
void staged_change_done(struct staged_change *change);
#define autostagedchange own_cleanup(staged_change_done)

/* Takes the first look. The repository and the batch, of the same one, must outlive it. id_len is
 * that of an id in hexadecimal digits. */
int staged_open(struct staged *s, const struct git_repo *repo, struct git_batch *batch,
                size_t id_len, struct err *err);
void staged_close(struct staged *s);

/* Looks again, and fills `ret`; NULL: nobody wants to know. */
int staged_look(struct staged *s, struct staged_change *ret, struct err *err);

#endif
