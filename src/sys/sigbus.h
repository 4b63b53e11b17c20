/*
 * Faults: the memory of a mapped file has no room on the disk until it is written to, on some file
 * systems (btrfs) each time anew. Where there is none then, the system has no other word for it
 * than SIGBUS.
 */
#ifndef SYS_SIGBUS_H
#define SYS_SIGBUS_H

#include <stdbool.h>

/* Calls fn. False where it was left in the middle for such a fault: what it was at is as if the
 * process had been killed there, and what it held in memory is not given back. Not to be nested. */
bool sigbus_try(void (*fn)(void *ctx), void *ctx);

#endif
