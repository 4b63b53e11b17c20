/*
 * Settings of a single worktree: git reads the file config.worktree in a worktree's own folder if
 * extensions.worktreeConfig is on. It is off by default. Code that switches it on must switch it
 * off again. Meanwhile core.bare and core.worktree must be in the main worktree's own file, or they
 * apply to all worktrees (git-worktree(1)).
 */
#ifndef GIT_CONFIG_WORKTREE_CONFIG_H
#define GIT_CONFIG_WORKTREE_CONFIG_H

#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>

/* Switches it on. *ret_switched is false if it was on already. Otherwise we first write a note that
 * we must switch it off. */
int worktree_config_on(const struct git_repo *repo, bool *ret_switched, struct err *err);

/* True if that note exists: we switched it on, or were about to. */
bool worktree_config_is_ours(const struct git_repo *repo);

/* Switches it off, unless some worktree has settings of its own: then it stays on, the note stays,
 * and that is no failure. Call it only if we switched it on, or were about to. */
int worktree_config_off(const struct git_repo *repo, struct err *err);

/* True if the shared configuration file has it on; starts no process. */
bool worktree_config_is_on(const char *common);

/* Reads the last value of a setting in a worktree's own file; false if there is none. Expects the
 * form that worktree_config_set() and git write: one setting per line. */
bool worktree_config_get(const char *admin, const char *key, struct buf *ret);

/* Sets one setting, "section.name", of the worktree with this administrative folder; earlier values
 * no longer apply. Only for worktrees in which nobody is working: it does not wait for git's lock
 * on the file. Starts no process. */
int worktree_config_set(const char *admin, const char *key, const char *value, struct err *err);

#endif
