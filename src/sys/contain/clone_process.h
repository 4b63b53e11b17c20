/*
 * Copies this process as fork() does, but into new namespaces or into a control group. Only for
 * programs with one thread.
 */
#ifndef SYS_CONTAIN_CLONE_PROCESS_H
#define SYS_CONTAIN_CLONE_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct clone_place {
    bool pids, mounts, users; /* make new namespaces of these kinds */
    int cgroup;               /* descriptor of a control group's folder; -1: ours */
};

/* Like fork(): *ret_pid is 0 in the copy. Fails if the system cannot do it or does not allow it. */
int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err);

/* Runs fn(arg) in a child that shares our memory, on a stack of that many bytes, and waits until
 * the child executes a program or exits: much cheaper than a copy. All signals are blocked in the
 * child as long as it has not unblocked them. Fails if the system cannot do it. */
int clone_to_exec(int (*fn)(void *arg), void *arg, size_t stack, pid_t *ret_pid, struct err *err);

#endif
