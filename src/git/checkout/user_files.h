/*
 * struct user_files: a snapshot of the tracked files in the user's work tree that differ from the
 * index.
 *
 * A check reads the index and the stat data of each of its files, which takes about a microsecond
 * per file. Only for files that have changed we ask git, with one process for all. A file that
 * equals the index counts as unchanged, whatever happened in between: a commit by the user and a
 * fast-forward by us are no changes. Nor is our output, if the shell sent it to one of these files.
 * The check ignores untracked files. It sees nothing if the
 * index is split or of an unknown kind.
 */
#ifndef GIT_CHECKOUT_USER_FILES_H
#define GIT_CHECKOUT_USER_FILES_H

#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "git/git.h"
#include "sys/fs/standard_files.h"
#include "sys/throttle.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct user_file {
    char *path;
    off_t size; /* -1: it does not exist */
    struct timespec mtime;
    mode_t mode;
};

typedef VEC(struct user_file) user_file_list;

struct user_files {
    const struct git_repo *repo;
    size_t id_len;
    user_file_list changed;        /* by stat data alone, sorted by path */
    struct standard_files written; /* behind our standard descriptors ... */
    struct strv written_paths;     /* ... and their paths at the first snapshot */
    struct throttle pace;          /* limits how often the caller checks */
};

/* Makes the first snapshot: existing differences are the user's. The repository must outlive it. */
int user_files_open(struct user_files *c, const struct git_repo *repo, size_t id_len,
                    struct err *err);
void user_files_close(struct user_files *c);

/* Makes a new snapshot and appends the paths (relative to the work tree) that have changed since
 * the last one and differ from the index. If ret_paths is NULL we do not ask git. If git is working
 * in the work tree, *ret_looked is false, and the next check reports the changes. */
int user_files_look(struct user_files *c, struct strv *ret_paths, bool *ret_looked,
                    struct err *err);

#endif
