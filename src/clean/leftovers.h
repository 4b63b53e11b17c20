/*
 * struct leftovers: what runs have left in a repository, by looking at it: workspaces, whole or
 * half, branches and refs. The store only adds what it knows; what it does not know is found as
 * well.
 */
#ifndef CLEAN_LEFTOVERS_H
#define CLEAN_LEFTOVERS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "git/git.h"
#include "git/state_paths.h"
#include "store/store.h"

#include <stdbool.h>
#include <sys/types.h>

struct leftover_run {
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
struct leftover_task {
    struct leftover_run *run;
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

struct leftovers {
    struct arena arena; /* holds all that is below */
    const struct git_repo *repo;
    const char *state_dir;
    struct store *store; /* or NULL */
    VEC(struct leftover_run *) runs;
    VEC(struct leftover_task *) tasks;
    VEC(const char *) works;   /* folders in which workspaces are made */
    VEC(const char *) retired; /* folders that were on their way out */
    struct strv ids;           /* of the runs that the store knows */
    struct map rows, runs_by_id, tasks_by_key, works_by_path, checked_out;
};

/* Outside a repository (repo->root is NULL) only runs are looked for. Dead ones are locked until
 * leftovers_done(), so that nobody begins to go on with one. */
int leftovers_find(struct leftovers *r, const struct git_repo *repo, const char *state_dir,
                   struct store *store, struct err *err);
void leftovers_done(struct leftovers *r);
#define autoremains own_cleanup(leftovers_done)

/* The run with an id of RUN_ID_LEN characters. */
struct leftover_run *leftovers_run(struct leftovers *r, const char *id, struct err *err);

bool leftovers_any_alive(const struct leftovers *r);

/* The worktree of the user's in which a branch is checked out, or NULL. */
const char *leftovers_checkout(const struct leftovers *r, const char *branch);

#endif
