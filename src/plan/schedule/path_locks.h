/*
 * struct path_locks: the claimed paths that running tasks lock, for plans in which tasks with a
 * path in common wait for each other. A task locks the paths that it owns and all that meet them.
 * Memory is proportional to the claims and to the pairs of paths that meet, not to the pairs of
 * tasks.
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
    size_t count;            /* of paths */
    struct path_list *owned; /* per task */
    size_t tasks;
    struct path_list *meets; /* per path: the other paths that have a path in common with it */
    uint32_t *locks;         /* per path: so many times running tasks lock it */
};

void path_locks_init(struct path_locks *l, struct claims *claims);
void path_locks_done(struct path_locks *l); /* also of a zeroed one */

/* Finds a path of the task that another one locks; false where there is none. */
bool path_locks_find(const struct path_locks *l, uint32_t task, uint32_t *ret_path);

void path_locks_take(struct path_locks *l, uint32_t task);

/* Appends the paths that nothing locks any more. */
void path_locks_drop(struct path_locks *l, uint32_t task, struct path_list *ret_free);

#endif
