/*
 * struct path_locks: locks on claimed paths, for plans in which tasks with a common path wait for
 * each other. A running task locks the paths that it owns and all paths that meet them. Memory is
 * proportional to the claims and to the pairs of paths that meet, not to the pairs of tasks.
 */
#ifndef PLAN_SCHEDULE_PATH_LOCKS_H
#define PLAN_SCHEDULE_PATH_LOCKS_H

#include "base/vec.h"
#include "plan/schedule/claims.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_list {
    VEC(uint32_t) paths;
};

struct path_locks {
    size_t count;            /* number of paths */
    struct path_list *owned; /* per task */
    size_t tasks;
    struct path_list *meets; /* per path: the other patterns that match a common path */
    uint32_t *locks;         /* per path: number of locks held by running tasks */
};

void path_locks_init(struct path_locks *l, struct claims *claims);
void path_locks_done(struct path_locks *l); /* also for a zeroed struct */

/* Finds a path of the task that another task locks; false if there is none. */
bool path_locks_find(const struct path_locks *l, uint32_t task, uint32_t *ret_path);

void path_locks_take(struct path_locks *l, uint32_t task);

/* Appends the paths that are now unlocked. */
void path_locks_drop(struct path_locks *l, uint32_t task, struct path_list *ret_free);

#endif
