/*
 * A control group (cgroup v2) of our own, below the group that we are in. Every process that starts
 * in it stays in it, and one write kills all of them. It can also limit resources if its parent
 * delegates the controllers.
 */
#ifndef SYS_CONTAIN_CGROUP_H
#define SYS_CONTAIN_CGROUP_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/guard/proc_table.h"

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
    char *dir; /* NULL: no group */
    int fd;
};
#define CGROUP_INIT                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Appends the folder in which we make new groups: the folder of our own group. */
int cgroup_place(struct buf *out, struct err *err);

/* Makes "anabranch-RUN-PID", or takes over such a group that an earlier process left. Fails if
 * there is no cgroup v2, if we lack permission, or if the kernel cannot kill a whole group. */
int cgroup_make(struct cgroup *cg, const char *place, const char *run, pid_t pid, struct err *err);

/* Removes the group; no process may be in it. */
void cgroup_remove(struct cgroup *cg);

int cgroup_kill(const struct cgroup *cg, struct err *err);
int cgroup_freeze(const struct cgroup *cg, bool frozen, struct err *err);

/* Sets all limits that the controllers support; 0 means no limit. True if they enforce all
 * requested limits. */
bool cgroup_limit(const struct cgroup *cg, int64_t memory, int64_t processes, double cpu);

/* True if the kernel enforced a limit: it killed processes because memory ran out, or refused to
 * start processes. */
bool cgroup_ran_out_of_memory(const struct cgroup *cg);
bool cgroup_ran_out_of_processes(const struct cgroup *cg);

/* Kills and removes the remaining groups of a run below `place`; with pid, only that guard's
 * group. */
void cgroup_sweep(const char *place, const char *run, pid_t pid);

#endif
