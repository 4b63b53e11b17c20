/*
 * Requests to stop a command that has no loop (sys/proc/loop.h). We record SIGINT, SIGTERM and
 * SIGHUP, and the command checks for them between two steps. capture_many() ends the children that
 * it waits for.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

/* Records the signals from now on. A SIGHUP that is ignored stays ignored. The second signal also
 * ends a program that proc_capture() waits for. */
void interrupt_watch(void);

/* The first signal that came, or 0. */
int interrupt_signal(void);

#endif
