/*
 * Detects a git that would wait or read forever: an agent has put a FIFO where git expects a file,
 * and nobody opens its other end, or a device such as /dev/zero. Every caller that waits for git
 * checks here from time to time.
 */
#ifndef SYS_PROC_STUCK_H
#define SYS_PROC_STUCK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on we remove a FIFO or a device below this folder if a git is stuck in it: that loses
 * nothing. Elsewhere a person must remove it. */
void stuck_remove_below(const char *folder);

/* How often to check, in ms: a check reads all processes. It is shorter once we have found a stuck
 * git. */
int stuck_look_ms(void);

/* True if a git in the process group waits in open() or read() for a FIFO with a name, or has a
 * device open that is not one of the system's; then we append its path. False if the system does
 * not tell. */
bool stuck_find(pid_t group, struct buf *ret_path);

/* Returns -1 with ERR_ENV, errnum EDEADLK and a message for a person if a git in the group is
 * stuck, else 0. The caller must end the git. */
int stuck_check(pid_t group, struct err *err);

/* True if a message comes from such an error and the FIFO is removed: then a retry helps. */
bool stuck_is_removed(const char *words);

#endif
