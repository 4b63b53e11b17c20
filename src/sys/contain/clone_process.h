/*
 * A copy of this process, as fork() makes one, that begins somewhere else: in namespaces of its
 * own, or in a control group. Only for programs of one thread.
 */
#ifndef SYS_CONTAIN_CLONE_PROCESS_H
#define SYS_CONTAIN_CLONE_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct clone_place {
    bool pids, mounts, users; /* namespaces of its own */
    int cgroup;               /* descriptor of a control group's folder; -1: ours */
};

/* As fork(): 0 in the copy. Fails where the system cannot, or does not let us. */
int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err);

#endif
