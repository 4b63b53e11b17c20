/*
 * struct leftovers: what runs have left in a repository: workspaces (complete or not), branches and
 * refs. We look at the disk and at git. The store only adds details; we also find what it does not
 * know.
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
    const char *base;      /* full name of the branch that it lands on, or NULL */
    const char *state;     /* from the store, or NULL */
    bool alive;            /* true if it may be about to begin, too */
    int lock;              /* while we look at a dead run we hold its lock; else -1 */
    bool tasks_loaded;     /* its tasks were read from the store */
    bool processes_ended;  /* clean has ended its processes, */
    const char *end_error; /* or why it could not */
};

/* A workspace, or what is left of it; or a branch without a workspace. */
struct leftover_task {
    struct leftover_run *run;
    const char *task;
    const char *path;  /* even if it is gone; NULL if there is only a branch */
    const char *admin; /* its administrative folder, even if it is gone */
    bool has_tree;     /* it has files */
    bool has_admin;
    bool inner;         /* a worktree that an agent made inside a workspace */
    const char *branch; /* full name; NULL if it does not exist */
    const char *start, *state;
    int attempts;
    pid_t used_by; /* the process that worked in it when clean began, or 0 */
};

struct leftovers {
    struct arena arena; /* holds everything below */
    const struct git_repo *repo;
    const char *state_dir;
    struct store *store; /* may be NULL */
    VEC(struct leftover_run *) runs;
    VEC(struct leftover_task *) tasks;
    VEC(const char *) workspace_roots; /* folders that hold workspaces */
    VEC(const char *) retired;         /* known folders whose removal was interrupted */
    VEC(const char *) foreign;         /* paths of folders that no run made, in a run's folder */
    struct strv stored_ids;            /* of the runs in the store */
    struct map stored_runs, runs_by_id, tasks_by_key, roots_by_path, checked_out;
};

/* Outside a repository (repo->root is NULL) we look for runs only. Dead runs stay locked until
 * leftovers_done(), so that nobody resumes one. */
int leftovers_find(struct leftovers *r, const struct git_repo *repo, const char *state_dir,
                   struct store *store, struct err *err);
void leftovers_done(struct leftovers *r);
#define autoremains own_cleanup(leftovers_done)

/* Finds or adds the run whose id is the first RUN_ID_LEN characters of `id`. */
struct leftover_run *leftovers_run(struct leftovers *r, const char *id, struct err *err);

bool leftovers_any_alive(const struct leftovers *r);

/* The user's worktree that has the branch checked out, or NULL. */
const char *leftovers_checkout(const struct leftovers *r, const char *branch);

#endif
