/*
 * Salvaged work: what workspace/commit/salvage.h saved, found again by its refs alone.
 */
#ifndef WORKSPACE_COMMIT_SALVAGE_LIST_H
#define WORKSPACE_COMMIT_SALVAGE_LIST_H

#include "base/vec.h"
#include "workspace/commit/salvage.h"

#include <stdint.h>

struct salvage {
    char *id; /* run/task/attempt */
    char *commit;
    char *from;    /* the commit to compare it with */
    char *why;     /* one line; "" where it is not known */
    int64_t time;  /* ms since 1970 */
    size_t nested; /* repositories that were saved with it */
    char *strays;  /* the commit that leads to those that nothing else does, or NULL */
    int64_t files, added, removed;
};

struct salvages {
    VEC(struct salvage) list; /* newest first */
};

/* The message of the commit that holds it. */
char *salvage_message(const char *run, const char *task, int attempt, const char *from,
                      const char *why);

int salvages_load(struct salvages *s, const struct git_place *at, struct err *err);
void salvages_done(struct salvages *s);
#define autosalvages own_cleanup(salvages_done)

/* The one that a word stands for: its id, or a part of it from the beginning or behind a slash that
 * no other has. ERR_INPUT where there is none, or more than one. */
int salvages_find(const struct salvages *s, const char *word, const struct salvage **ret,
                  struct err *err);

/* Whether all that it holds is in `base` already: merging it would change nothing. */
int salvage_is_merged(const struct salvage *s, const struct git_place *at, const char *base,
                      bool *ret_yes, struct err *err);

/* Makes a worktree of it in dir, on a new branch; the repositories that were in it are made again.
 * ERR_INPUT, and nothing is done, where the branch exists, or the folder does and is not empty. */
int salvage_restore(const struct salvage *s, const struct git_place *at, const char *dir,
                    const char *branch, struct err *err);

/* Deletes its refs; appends what they were, each as "ref commit". */
int salvage_drop(const struct salvage *s, const struct git_place *at, struct strv *ret_was,
                 struct err *err);

#endif
