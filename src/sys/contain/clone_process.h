/*
 * Copies this process as fork() does, but into new namespaces or into a control group. Only for
 * programs with one thread.
 */
#ifndef SYS_CONTAIN_CLONE_PROCESS_H
#define SYS_CONTAIN_CLONE_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct clone_place {
    bool pids, mounts, users; /* make new namespaces of these kinds */
    int cgroup;               /* descriptor of a control group's folder; -1: ours */
};

/* Like fork(): *ret_pid is 0 in the copy. Fails if the system cannot do it or does not allow it. */
int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err);

#endif
