/*
 * Times as text.
 */
#ifndef BASE_TEXT_TIMESTAMP_H
#define BASE_TEXT_TIMESTAMP_H

#include "base/buf.h"

#include <stdint.h>

/* "2026-03-01T12:00:00.123Z", of milliseconds since 1970 */
void timestamp_format(struct buf *out, int64_t wall_ms);

/* Reads the same form. The fraction may be missing or have one to nine digits; three count. Returns
 * -1 for anything else, including a day that does not exist and a leap second. */
int timestamp_parse(const char *s, int64_t *ret_wall_ms);

#endif
