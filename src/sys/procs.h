/*
 * The processes of this machine, as far as they descend from us.
 */
#ifndef SYS_PROCS_H
#define SYS_PROCS_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct procs {
    VEC(pid_t) pids;
};

/* Lists all processes that descend from `root` (itself not), ended ones that nobody reaped left
 * out. Where the system does not tell, the list stays empty. */
void procs_below(struct procs *procs, pid_t root);

/* Appends the command line of a process, arguments separated by blanks, at most 200 bytes. */
void procs_command(pid_t pid, struct buf *out);

/* When a process started, in a unit of the system's own; 0 where it is not there. Together with the
 * pid it names a process for good. */
int64_t procs_start(pid_t pid);

#endif
