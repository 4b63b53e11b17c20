/*
 * The wish that a command stops, for commands without a loop (sys/proc/loop.h): SIGINT, SIGTERM and
 * SIGHUP are noted, and who works looks for them between two steps. What is waited for by
 * capture_many() meanwhile is ended.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

/* From now on the signals are noted; a SIGHUP that is ignored stays so. The second one ends also a
 * program that proc_capture() waits for. */
void interrupt_watch(void);

/* The first that came, or 0. */
int interrupt_signal(void);

#endif
