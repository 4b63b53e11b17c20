/*
 * struct remains: what runs have left in a repository, by looking at it: workspaces, whole or half,
 * branches and refs. The store only adds what it knows; what it does not know is found as well.
 */
#ifndef CLEAN_FIND_H
#define CLEAN_FIND_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "git/git.h"
#include "store/store.h"

#include <stdbool.h>
#include <sys/types.h>

enum { RUN_ID_LEN = 20 }; /* 20260301-120000-12ab */

/* In a run's folder, beside those of its tasks, whose names have no dots: the file that it keeps
 * locked as long as it lives, the patterns of ignored files to save, each with a NUL behind it,
 * the pattern that its branches are named by, where it is not ours, and the folder with git's
 * configuration as it was when the run began (git/config/frozen_config.h).
 */
#define RUN_LOCK     "run.alive"
#define RUN_SALVAGE  "run.salvage"
#define RUN_BRANCHES "run.branches"
#define RUN_GIT      "run.git"

/* Whether s begins with what can be a run's id. */
bool is_run_id(const char *s);

struct remains_run {
    const char *id;
    const char *base;  /* full name of the branch that it landed on, or NULL */
    const char *state; /* as the store has it, or NULL */
    bool alive;        /* or about to begin */
    int lock;          /* ours as long as we look at a dead one, or -1 */
    bool loaded;       /* its tasks were asked for */
    bool ended;        /* clean has ended what it left, */
    const char *stuck; /* or could not, and why */
};

/* A workspace, or what there is of it; or a branch that is without one. */
struct remains_task {
    struct remains_run *run;
    const char *task;
    const char *path, *admin; /* where its folders are or were; path is NULL for a mere branch */
    bool has_tree;            /* there are files */
    bool has_admin;
    bool inner;         /* a worktree that an agent made inside of a workspace */
    const char *branch; /* full name; NULL where it does not exist */
    const char *start, *state;
    int attempts;
    pid_t used_by; /* who was at work in it when clean began, or 0 */
};

struct remains {
    struct arena arena; /* holds all that is below */
    const struct git_repo *repo;
    const char *state_dir;
    struct store *store; /* or NULL */
    VEC(struct remains_run *) runs;
    VEC(struct remains_task *) tasks;
    VEC(const char *) works;   /* folders in which workspaces are made */
    VEC(const char *) retired; /* folders that were on their way out */
    struct strv ids;           /* of the runs that the store knows */
    struct map rows, runs_by_id, tasks_by_key, works_by_path, checked_out;
};

/* Outside a repository (repo->root is NULL) only runs are looked for. Dead ones are locked until
 * remains_done(), so that nobody begins to go on with one. */
int remains_find(struct remains *r, const struct git_repo *repo, const char *state_dir,
                 struct store *store, struct err *err);
void remains_done(struct remains *r);
#define autoremains own_cleanup(remains_done)

/* The run with an id of RUN_ID_LEN characters. */
struct remains_run *remains_run(struct remains *r, const char *id, struct err *err);

bool remains_any_alive(const struct remains *r);

/* The worktree of the user's in which a branch is checked out, or NULL. */
const char *remains_checkout(const struct remains *r, const char *branch);

#endif
