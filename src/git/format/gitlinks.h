/*
 * Entries of an index that are submodules (gitlinks). An agent can write the configuration of a
 * submodule's repository. `git add` and `git status` start a `git status` inside of a submodule,
 * and that one runs the programs which this configuration names: filters above all. No option of
 * `git add` prevents this. So we keep these entries from `git add`, stage them with `git
 * update-index`, which only reads the submodule's HEAD, and look inside by our own configuration.
 */
#ifndef GIT_FORMAT_GITLINKS_H
#define GIT_FORMAT_GITLINKS_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>

/* Stages the submodules of the index at->index, and appends the arguments for `git add` that leave
 * them out. id_len is the length of an id in hexadecimal digits, or 0 where it is not known. */
int gitlinks_stage(const struct git_place *at, size_t id_len, struct strv *args, struct err *err);

/* Only appends the arguments. */
int gitlinks_exclude(const struct git_place *at, size_t id_len, struct strv *args, struct err *err);

/* Appends the paths of the submodules of an index that have changes of tracked files which are not
 * committed in them, or in a submodule inside of them; with `untracked` also of new files. The work
 * tree of `at` is a path that other processes know. */
int gitlinks_changed(const struct git_place *at, size_t id_len, bool untracked, struct strv *ret,
                     struct err *err);

/* The same of one repository, whose work tree is `tree`. `common` is our own repository. */
int gitlinks_tree_changed(const char *common, const char *tree, bool untracked, bool *ret_yes,
                          struct err *err);

#endif
