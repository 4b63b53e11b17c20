/*
 * Replaces this program with git.
 */
#ifndef CLI_COMMON_GIT_EXEC_H
#define CLI_COMMON_GIT_EXEC_H

#include "git/git.h"

/* Executes `git ARG...` in the repository, with the configuration that our gits use. We replace
 * this program, so that the terminal's signals reach only git and its pager. `index` is the path of
 * another index, or NULL. Returns only on failure, with the exit code. */
int git_exec(const struct git_repo *repo, const struct strv *args, const char *index);

#endif
