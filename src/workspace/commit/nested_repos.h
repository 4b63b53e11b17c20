/*
 * Saves repositories inside a workspace that are not its submodules: an agent ran `git init` or
 * `git clone` there. `git add` would record only the commit of such a repository. We also save new
 * files in the folders of submodules, which `git add` does not see at all.
 *
 * A nested repository is saved as REF/saved, a commit of its files on top of its HEAD with the
 * path in the subject, and REF/heads/, REF/tags/ and REF/stash with the commits of its refs.
 */
#ifndef WORKSPACE_COMMIT_NESTED_REPOS_H
#define WORKSPACE_COMMIT_NESTED_REPOS_H

#include "workspace/workspace.h"

/* Appends their paths below the workspace, including those nested in others. at->index is the
 * index with the workspace's own files. */
int nested_repos_find(const struct git_place *at, const struct workspace *ws, struct strv *ret,
                      struct err *err);

/* Appends the paths of submodules whose folders contain untracked files: git does not add them,
 * and for a submodule that is not checked out it does not even list them. */
int nested_repos_find_modules(const struct git_place *at, const struct workspace *ws,
                              struct strv *ret, struct err *err);

/* Appends arguments for `git add` that exclude all repositories below the folder `above` ("":
 * everywhere). */
void nested_repos_exclude(const struct strv *paths, const char *above, struct strv *args);

/* Saves the repository at paths->v[i] under `ref`, which may exist from an earlier attempt.
 * *ret_saved is false for a clone without any work that its remotes lack. at->index names a file
 * that we may overwrite. ERR_INPUT if we cannot save it. */
int nested_repos_save(const struct git_place *at, const struct workspace *ws,
                      const struct strv *paths, size_t i, const char *ref, bool *ret_saved,
                      struct err *err);

#define NESTED_SUBJECT "Nested repository "

#endif
