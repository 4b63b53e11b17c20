/*
 * The configuration of git as it was when a run began. Agents can write all files that git takes
 * its configuration from, and much of that names programs; so the gits of a run, and of those who
 * look at it later, use a copy. The programs of agents use what is there.
 *
 * The copy is a folder, which stands in for the folder that all worktrees share (GIT_COMMON_DIR):
 *
 *     config           the repository's own settings, with all that they include
 *     global           those of the system and the user
 *     worktree-NAME    the file of settings of each worktree that has one; "": of the main one
 *     info/            copies of the files of attributes and patterns to ignore
 *     settings         all settings as git listed them: "SCOPE\0KEY\nVALUE\0"
 *     anabranch-guard  a link to the program that keeps filters and merge drivers together
 *
 * All else in it are links to what they are named after, so objects, refs and their locks are those
 * of the repository. No check comes before the use of a setting, so nothing can come in between.
 *
 * One process uses one copy, and gives it to the processes of ours that it starts for git's sake.
 */
#ifndef GIT_CONFIG_FROZEN_CONFIG_H
#define GIT_CONFIG_FROZEN_CONFIG_H

#include "git/git.h"

/* Makes the copy in a folder that does not exist, from what git_open() read, and uses it from now
 * on; later commands find it by its name in `frozen`. */
int git_freeze(const struct git_repo *repo, const char *dir, const char *guard, struct err *err);

/* Takes the copy away again, where what it was made for does not begin. */
void git_frozen_remove(const char *dir);

/* Uses a copy that is there, and reads repo->core from it; `guard` as above, NULL: as it was. Where
 * there is none, *ret_there is false. */
int git_frozen_use(struct git_repo *repo, const char *dir, const char *guard, bool *ret_there,
                   struct err *err);

/* The copy that was made last in this repository; NULL: none. For the caller to free. */
char *git_frozen_last(const struct git_repo *repo);

/* Appends the settings that name programs and that a copy does not have like this: "KEY=VALUE", or
 * the key alone where the value may be a secret. */
void git_frozen_news(const struct git_repo *repo, const char *dir, struct strv *ret);

/* --- for git/git.c */

/* Whether a variable points git at other configuration than the copy in use. */
bool git_frozen_replaces(const char *entry);
void git_frozen_environment(struct strv *env);

/* The folder to be used in place of the one that the worktrees of a git folder share; NULL where
 * that is another repository's, or nothing is frozen. */
const char *git_frozen_common(const char *git_dir, const char *common);

/* Whether a git folder is not of the repository whose configuration is frozen. */
bool git_frozen_is_foreign(const char *git_dir);

/* The file with the settings of the worktree of a git folder, to be included; NULL: none. */
char *git_frozen_worktree(const char *git_dir);

#endif
