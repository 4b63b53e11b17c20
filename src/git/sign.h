/*
 * Signatures for the commits that we write, where commit.gpgsign asks for them. git makes them
 * (`git commit-tree -S`), by gpg or ssh-keygen, and nobody is ever prompted: git starts this
 * program in place of theirs, which starts them in a way that they cannot ask, and for a few
 * seconds at most. A key that needs a passphrase which no agent of the user's has is then a
 * failure.
 *
 * The first failure ends it: later commits are not signed, and the caller says so.
 */
#ifndef GIT_SIGN_H
#define GIT_SIGN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_core;
struct git_place;

struct sign {
    const struct git_core *core; /* what the settings say; outlives it */
    const char *self;            /* this program */
    bool on;
    struct err failure; /* why it is not on any more; its code is 0 where it never was to be */
};

/* Tries it with a commit of a tree. Sets `on`, or `failure`. */
void sign_begin(struct sign *sign, const struct git_core *core, const char *self,
                const struct git_place *at, const char *tree);

/* As git_commit_tree_by(), signed. */
int sign_commit_tree(struct sign *sign, const struct git_place *at, const char *author,
                     const char *tree, const char *const *parents, const char *message,
                     struct buf *ret_commit, struct err *err);

/* Whether git has started us in place of a program that signs, which then takes our place; returns
 * only where that fails, or false. */
bool sign_is_wanted(int argc, char **argv);
void sign_exec(char **argv);

#endif
