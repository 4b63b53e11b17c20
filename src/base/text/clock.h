/*
 * Time. Durations are milliseconds in int64_t everywhere in the program.
 */
#ifndef BASE_TEXT_CLOCK_H
#define BASE_TEXT_CLOCK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int64_t clock_mono(void); /* ms, only ever forward; for measuring and deadlines */
int64_t clock_wall(void); /* ms since 1970, UTC; for showing and storing */
void clock_format(struct buf *out, int64_t wall_ms); /* "2026-03-01T12:00:00.123Z" */

/* The same form; the fraction may be missing or have one to nine digits, of which three count. -1
 * for anything else, a day that does not exist and a leap second among it. */
int clock_parse(const char *s, int64_t *ret_wall_ms);

bool clock_same(const struct timespec *a, const struct timespec *b);
bool clock_is_later(const struct timespec *a, const struct timespec *b); /* a than b */

#endif
