/*
 * struct throttle: limits repeated work to a fiftieth of the time, however long it takes.
 *
 *
 *     if (throttle_is_due(&p)) { throttle_begin(&p); ...; throttle_end(&p); }
 */
#ifndef SYS_THROTTLE_H
#define SYS_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct throttle {
    int64_t began, ended; /* monotonic ns, of the last run */
};

void throttle_begin(struct throttle *p);
void throttle_end(struct throttle *p);
bool throttle_is_due(const struct throttle *p); /* true before the first run */

#endif
