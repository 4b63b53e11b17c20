/*
 * struct user_files: the tracked files of the user's work tree, and which of them are not what the
 * index says, as of the last look.
 *
 * A look reads the index and the stat data of every file that is in it, which takes about a
 * microsecond each; git is asked only about files that have changed, one process for all. What is
 * as the index has it counts as unchanged, however it came to be: a commit by the user and a
 * fast-forward by us are no changes. New files that nobody tracks are not seen. Where the index is
 * split, or of a kind that is not known, nothing is.
 */
#ifndef GIT_CHECKOUT_USER_FILES_H
#define GIT_CHECKOUT_USER_FILES_H

#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "git/git.h"
#include "sys/throttle.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct user_file {
    char *path;
    off_t size; /* -1: it is not there */
    struct timespec mtime;
    mode_t mode;
};

struct user_files {
    const struct git_repo *repo;
    size_t id_len;
    VEC(struct user_file) changed; /* by stat data alone, sorted by path */
    struct throttle pace;          /* of the looks, for who takes them */
};

/* Takes the first look: what differs already is the user's. The repository must outlive it. */
int user_files_open(struct user_files *c, const struct git_repo *repo, size_t id_len,
                    struct err *err);
void user_files_close(struct user_files *c);

/* Looks again; appends the paths, relative to the work tree, that have changed since the last time
 * and are not what the index says. Without ret_paths nobody wants to know, and git is not asked.
 * *ret_looked is false where git is at work in it: then the next
 * look tells. */
int user_files_look(struct user_files *c, struct strv *ret_paths, bool *ret_looked,
                    struct err *err);

#endif
