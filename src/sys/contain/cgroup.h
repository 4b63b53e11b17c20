/*
 * A control group (cgroup v2) of our own, below the one that we are in. All that begins in it stays
 * in it, and one write ends it all. Where its parent hands controllers down, it limits as well.
 */
#ifndef SYS_CONTAIN_CGROUP_H
#define SYS_CONTAIN_CGROUP_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/guard/proc_table.h"

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
    char *dir; /* NULL: there is none */
    int fd;
};
#define CGROUP_INIT                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Appends the folder that new groups are made in: that of our own group. */
int cgroup_place(struct buf *out, struct err *err);

/* Makes "anabranch-RUN-PID"; one of that name which an earlier process left is taken over. Fails
 * where there is no cgroup v2, where we may not, or where the kernel cannot end a group at once. */
int cgroup_make(struct cgroup *cg, const char *place, const char *run, pid_t pid, struct err *err);

/* Removes it; there must be nobody in it. */
void cgroup_remove(struct cgroup *cg);

int cgroup_kill(const struct cgroup *cg, struct err *err);
int cgroup_freeze(const struct cgroup *cg, bool frozen, struct err *err);

/* Sets what its controllers can; true where all that was asked for (0: nothing) is seen to by
 * them. */
bool cgroup_limit(const struct cgroup *cg, int64_t memory, int64_t processes, double cpu);

/* Whether the kernel has held it to a limit: ended processes for want of memory, or refused to
 * start some. */
bool cgroup_ran_out_of_memory(const struct cgroup *cg);
bool cgroup_ran_out_of_processes(const struct cgroup *cg);

/* Ends and removes the groups of a run (pid 0: all of them) that are left below `place`. */
void cgroup_sweep(const char *place, const char *run, pid_t pid);

#endif
