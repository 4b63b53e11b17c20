/*
 * Signs the commits that we write, if commit.gpgsign asks for it. git signs them (`git commit-tree
 * -S`) with gpg or ssh-keygen and never prompts the user: git starts anabranch in place of these
 * programs, and we start them so that they cannot prompt, with a time limit of a few seconds. So
 * signing fails if the key needs a passphrase and no gpg or ssh agent of the user holds it.
 *
 * After the first failure we sign no more commits, and the caller reports that.
 */
#ifndef GIT_SIGN_H
#define GIT_SIGN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_core;
struct git_place;

struct sign {
    const struct git_core *core; /* the settings; must outlive this struct */
    const char *self;            /* this program */
    bool on;
    struct err failure; /* why signing was switched off; code 0: no failure */
};

/* Tests signing with a commit of a tree. Sets `on`, or `failure`. */
void sign_begin(struct sign *sign, const struct git_core *core, const char *self,
                const struct git_place *at, const char *tree);

/* Like git_commit_tree_by(), signed. */
int sign_commit_tree(struct sign *sign, const struct git_place *at, const char *author,
                     const char *tree, const char *const *parents, const char *message,
                     struct buf *ret_commit, struct err *err);

/* sign_is_wanted(): true if git has started us in place of a signing program. sign_exec() then
 * replaces us with that program, and returns only on failure. */
bool sign_is_wanted(int argc, char **argv);
void sign_exec(char **argv);

#endif
