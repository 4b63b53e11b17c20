/*
 * Ends a git that would wait forever (stuck.h), for callers with a loop. After a request to stop it
 * also ends a git that takes longer than interrupt_until() allows.
 */
#ifndef SYS_PROC_STUCK_WATCH_H
#define SYS_PROC_STUCK_WATCH_H

#include "sys/proc/loop.h"

#include <sys/types.h>

struct stuck_watch;

/* Watches a process group whose leader is our child and not reaped yet. If we end it, we append the
 * reason to the file `log`, which may be NULL. */
struct stuck_watch *stuck_watch_new(struct loop *loop, pid_t group, const char *log);
void stuck_watch_free(struct stuck_watch *w); /* NULL is fine */

#endif
