/*
 * A copy of git's configuration, made when a run begins. Agents can write all files from which git
 * reads its configuration, and much of it names programs. So the gits of a run, and of commands
 * that inspect it later, use this copy. The agents' own programs use the current configuration.
 *
 * The copy is a folder that stands in for the folder that all worktrees share (GIT_COMMON_DIR):
 *
 *     config           the repository's own settings, with all included files
 *     global           those of the system and the user
 *     worktree-NAME    the settings file of each worktree that has one; "": of the main one
 *     info/            copies of the files with attributes and ignore patterns
 *     settings         all settings as git listed them: "SCOPE\0KEY\nVALUE\0"
 *     anabranch-guard  a link to the program that contains filters and merge drivers
 *
 * All other entries are links to the entries of the same name in the repository, so objects, refs
 * and their locks are shared. git never reads a setting that we would have to check first, so there
 * is no race between check and use.
 *
 * One process uses one copy, and passes it to our processes that it starts to run git.
 */
#ifndef GIT_CONFIG_FROZEN_CONFIG_H
#define GIT_CONFIG_FROZEN_CONFIG_H

#include "git/git.h"

/* Creates the copy in a new folder `dir` from the settings that git_open() read, and uses it from
 * now on. Later commands find it by its name in the file `frozen`. */
int git_freeze(const struct git_repo *repo, const char *dir, const char *guard, struct err *err);

/* Removes the copy if the run does not start. */
void git_frozen_remove(const char *dir);

/* Uses an existing copy and reads repo->core from it. `guard` as above; NULL: unchanged. *ret_there
 * is false if there is no copy. */
int git_frozen_use(struct git_repo *repo, const char *dir, const char *guard, bool *ret_there,
                   struct err *err);

/* The path of the latest copy in this repository, to be freed; NULL: none. */
char *git_frozen_last(const struct git_repo *repo);

/* Appends the settings that name programs and that differ from the copy: "KEY=VALUE", or only the
 * key if the value may be a secret. */
void git_frozen_news(const struct git_repo *repo, const char *dir, struct strv *ret);

/* The rest is for git/git.c. */

/* True if a variable points git at another configuration than the copy in use. */
bool git_frozen_replaces(const char *entry);
void git_frozen_environment(struct strv *env);

/* The folder to use in place of the shared folder of git_dir's worktrees; NULL if nothing is frozen
 * or git_dir belongs to another repository. */
const char *git_frozen_common(const char *git_dir, const char *common);

/* True if the configuration is frozen and git_dir belongs to another repository. */
bool git_frozen_is_foreign(const char *git_dir);

/* The file with the settings of git_dir's worktree, to be included; NULL: none. */
char *git_frozen_worktree(const char *git_dir);

#endif
