/*
 * Index entries that are submodules (gitlinks). An agent can write the configuration of a
 * submodule's repository. `git add` and `git status` start a `git status` inside a submodule, and
 * that one runs the programs that this configuration names, above all filters. No option of `git
 * add` prevents this. So we exclude these entries from `git add`, stage them with `git
 * update-index`, which reads only the submodule's HEAD, and look for changes inside with our own
 * configuration.
 */
#ifndef GIT_FORMAT_GITLINKS_H
#define GIT_FORMAT_GITLINKS_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>

/* Stages the submodules of the index at->index, and appends the arguments that exclude them from
 * `git add`. id_len is the length of an id in hexadecimal digits; 0: unknown. */
int gitlinks_stage(const struct git_place *at, size_t id_len, struct strv *args, struct err *err);

/* Only appends the arguments. */
int gitlinks_exclude(const struct git_place *at, size_t id_len, struct strv *args, struct err *err);

/* Appends the paths of the submodules that have uncommitted changes of tracked files, in themselves
 * or in a submodule inside; with `untracked` also new files. The work tree of `at` is a path that
 * other processes can use. */
int gitlinks_changed(const struct git_place *at, size_t id_len, bool untracked, struct strv *ret,
                     struct err *err);

/* The same for one repository with the work tree `tree`. `common` is our own repository. */
int gitlinks_tree_changed(const char *common, const char *tree, bool untracked, bool *ret_yes,
                          struct err *err);

#endif
