/*
 * The second request to stop ends a program that hangs. The loop sees signals only between
 * callbacks. If a callback waits for a program, the signal handler itself ends that program.
 */
#ifndef SYS_INTERRUPT_CHILD_H
#define SYS_INTERRUPT_CHILD_H

#include <stdint.h>
#include <sys/types.h>

/* From its second time on, the signal also ends the program that we wait for: first with SIGTERM,
 * then with SIGKILL. It spares a program that started within the last second. The signal must have
 * a handler already (the loop's), and we still call that handler. */
void interrupt_by(int signal);

/* Returns until when to wait (monotonic ms) for a caller that began at `since` and would wait until
 * `end`. That is `end`, or earlier: twenty seconds after the first signal, three seconds after the
 * second. If the wait began after the signal, the seconds count from `since`. */
int64_t interrupt_until(int64_t since, int64_t end);

/* Call these around a wait. `group` is the process group that we wait for. Nobody may reap its
 * leader between the two calls. */
void interrupt_begin(pid_t group);
void interrupt_end(void);

#endif
