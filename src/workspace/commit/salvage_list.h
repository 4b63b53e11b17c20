/*
 * Lists salvaged work (workspace/commit/salvage.h) from its refs alone.
 */
#ifndef WORKSPACE_COMMIT_SALVAGE_LIST_H
#define WORKSPACE_COMMIT_SALVAGE_LIST_H

#include "base/vec.h"
#include "workspace/commit/salvage.h"

#include <stdint.h>

struct salvage {
    char *id; /* run/task/attempt */
    char *commit;
    char *from;    /* commit with which to compare it */
    char *why;     /* one line; "" if not known */
    int64_t time;  /* ms since 1970 */
    size_t nested; /* number of nested repositories saved with it */
    char *strays;  /* the commit that has the lost commits as parents, or NULL */
    int64_t files, added, removed;
};

struct salvages {
    VEC(struct salvage) list; /* newest first */
};

/* The commit message of a salvage. */
char *salvage_message(const char *run, const char *task, int attempt, const char *from,
                      const char *why);

int salvages_load(struct salvages *s, const struct git_place *at, struct err *err);
void salvages_done(struct salvages *s);
#define autosalvages own_cleanup(salvages_done)

/* Finds the salvage that a word names: its id, or a unique part of the id that starts at its
 * beginning or after a slash. ERR_INPUT if there is none, or more than one. */
int salvages_find(const struct salvages *s, const char *word, const struct salvage **ret,
                  struct err *err);

/* *ret_yes: `base` already contains everything in it, so merging it would change nothing. */
int salvage_is_merged(const struct salvage *s, const struct git_place *at, const char *base,
                      bool *ret_yes, struct err *err);

/* Makes a worktree of it in `dir` on a new branch, and restores its nested repositories.
 * ERR_INPUT, without doing anything, if the branch exists or the folder exists and is not empty. */
int salvage_restore(const struct salvage *s, const struct git_place *at, const char *dir,
                    const char *branch, struct err *err);

/* Deletes its refs; appends each as "ref commit". */
int salvage_drop(const struct salvage *s, const struct git_place *at, struct strv *ret_was,
                 struct err *err);

#endif
