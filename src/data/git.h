/*
 * git, the program: argv arrays, never a shell; an environment without the variables that would
 * point it at another repository; its own words, untranslated.
 */
#ifndef DATA_GIT_H
#define DATA_GIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

struct git_repo {
    char *root;   /* top of the work tree, absolute; NULL: dir is in no repository */
    char *prefix; /* dir below root, without a slash at the end; "" at the root */
    bool ignore_case;
};

/* Looks for the work tree that dir is in. Not being in one, or having no git, is not a failure:
 * root is then NULL. A repository that git refuses to open is one (ERR_ENV, with git's words). */
int git_open(struct git_repo *repo, const char *dir, struct err *err);
void git_close(struct git_repo *repo);

/* Appends the tracked files, relative to the root, sorted bytewise, each with a NUL behind it. */
int git_tracked(const struct git_repo *repo, struct buf *out, struct err *err);

#endif
