/*
 * Repositories inside a workspace that are none of its submodules: an agent ran `git init` or `git
 * clone` there. `git add` would take note of their commit and of nothing else. And new files in the
 * folders of submodules, of which git would take note in no way.
 *
 * One is saved as REF/saved, a commit of its files on top of its HEAD whose subject has its path,
 * and REF/heads/, REF/tags/ and REF/stash with what its refs lead to.
 */
#ifndef WORKSPACE_COMMIT_NESTED_REPOS_H
#define WORKSPACE_COMMIT_NESTED_REPOS_H

#include "workspace/workspace.h"

/* Appends their paths below the workspace, those inside of others too. at->index is the index in
 * which the workspace's own files are. */
int nested_repos_find(const struct git_place *at, const struct workspace *ws, struct strv *ret,
                      struct err *err);

/* Appends the paths of submodules whose folders hold files that are not in a commit, and not even
 * tracked: git tells of none of them in one that is not checked out, and does not add them. */
int nested_repos_find_modules(const struct git_place *at, const struct workspace *ws,
                              struct strv *ret, struct err *err);

/* Arguments for `git add` that leave out all of them that are below `above` ("": all). */
void nested_repos_exclude(const struct strv *paths, const char *above, struct strv *args);

/* Saves the one at paths->v[i] under `ref`, which may be there from another try. *ret_saved is
 * false where it is a clone that holds nothing that its remotes do not have. at->index names a file
 * that may be written. ERR_INPUT where it cannot be saved. */
int nested_repos_save(const struct git_place *at, const struct workspace *ws,
                      const struct strv *paths, size_t i, const char *ref, bool *ret_saved,
                      struct err *err);

#define NESTED_SUBJECT "Nested repository "

#endif
