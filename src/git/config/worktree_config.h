/*
 * Configuration of a single worktree: git reads the file config.worktree of a worktree's own folder
 * where extensions.worktreeConfig is on. It is off by default, so whoever switches it on has to
 * see to it that it goes off again, and that core.bare and core.worktree, which then would hold for
 * all worktrees, are in the main one's own file meanwhile (git-worktree(1)).
 */
#ifndef GIT_CONFIG_WORKTREE_CONFIG_H
#define GIT_CONFIG_WORKTREE_CONFIG_H

#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>

/* *ret_switched is false where it was on already. Where it was not, a note says from before the
 * change on that it is ours to switch off. */
int worktree_config_on(const struct git_repo *repo, bool *ret_switched, struct err *err);

/* Whether there is such a note: we switched it on, or were about to. */
bool worktree_config_is_ours(const struct git_repo *repo);

/* Switches it off, unless some worktree has settings of its own: then it stays on, which is no
 * failure, and the note stays. For who switched it on, or was about to. */
int worktree_config_off(const struct git_repo *repo, struct err *err);

/* Whether the file of settings of all worktrees has it on; no process is needed to see it. */
bool worktree_config_is_on(const char *common);

/* What one setting of a worktree is, as its own file has it last; false where it has none. As
 * worktree_config_set() and git write it: one to a line. */
bool worktree_config_get(const char *admin, const char *key, struct buf *ret);

/* One setting, "section.name", of the worktree whose administrative folder that is; what it was set
 * to before does not count any more. For worktrees that nobody is at work in: it does not wait for
 * git's lock of the file, and starts no process. */
int worktree_config_set(const char *admin, const char *key, const char *value, struct err *err);

#endif
