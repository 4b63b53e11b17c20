/*
 * Handing the terminal over to git.
 */
#ifndef CLI_COMMON_GIT_EXEC_H
#define CLI_COMMON_GIT_EXEC_H

#include "git/git.h"

/* This program becomes `git ARG...` in the repository, with the configuration that our gits use, so
 * that the terminal's signals reach it and its pager alone. `index` is the file of another index
 * than the usual, or NULL. Returns only where that failed, with the exit code. */
int git_exec(const struct git_repo *repo, const struct strv *args, const char *index);

#endif
