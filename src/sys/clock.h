/*
 * The clocks of the machine. Durations are milliseconds in int64_t everywhere in the program.
 */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int64_t clock_mono(void); /* ms, never backwards; for measuring and deadlines */
int64_t clock_wall(void); /* ms since 1970, UTC; for showing and storing */

/* Compare times of files. */
bool clock_same(const struct timespec *a, const struct timespec *b);
bool clock_is_later(const struct timespec *a, const struct timespec *b); /* a is later than b */

#endif
