/*
 * SIGBUS on mapped files. Some file systems reserve room on the disk only when we write to the
 * memory of a mapped file (btrfs does so for each write). If the disk is full then, the system
 * sends SIGBUS.
 */
#ifndef SYS_SIGBUS_H
#define SYS_SIGBUS_H

#include <stdbool.h>

/* Calls fn. Returns false if a SIGBUS left fn in the middle. Then it is as if the process had been
 * killed there, and the memory that fn allocated leaks. Do not nest calls. */
bool sigbus_try(void (*fn)(void *ctx), void *ctx);

#endif
