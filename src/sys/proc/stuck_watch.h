/*
 * Ends a git that would wait for ever (stuck.h), beside a loop. After a signal that asks us to stop
 * it ends one as well that takes longer than interrupt_until() gives it.
 */
#ifndef SYS_PROC_STUCK_WATCH_H
#define SYS_PROC_STUCK_WATCH_H

#include "sys/proc/loop.h"

#include <sys/types.h>

struct stuck_watch;

/* Watches a group of processes whose leader is our child and not reaped yet. The reason for its end
 * is appended to the file `log`, which may be NULL. */
struct stuck_watch *stuck_watch_new(struct loop *loop, pid_t group, const char *log);
void stuck_watch_free(struct stuck_watch *w); /* NULL is fine */

#endif
