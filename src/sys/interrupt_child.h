/*
 * Who is asked a second time to stop does not wait any longer for a program that hangs. The loop
 * sees signals only between callbacks; what is waited for within one is ended by this, from the
 * handler itself.
 */
#ifndef SYS_INTERRUPT_CHILD_H
#define SYS_INTERRUPT_CHILD_H

#include <stdint.h>
#include <sys/types.h>

/* From its second time on, the signal also ends the program that is waited for, politely at first;
 * not one that was started within the last second. The signal must have a handler, the loop's,
 * which is called as before. */
void interrupt_by(int signal);

/* Until when to wait, for who began at `since` and would wait until `end` (monotonic ms): that, or
 * twenty seconds after the first such signal, or three after the second, if these came later than
 * it began. */
int64_t interrupt_until(int64_t since, int64_t end);

/* Around the waiting: the group of processes that is waited for. Its leader must not be reaped in
 * between. */
void interrupt_begin(pid_t group);
void interrupt_end(void);

#endif
