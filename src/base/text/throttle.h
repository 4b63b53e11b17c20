/*
 * struct pace: keeps what is done again and again below a fiftieth of the time, however long it
 * takes.
 *
 *     if (pace_is_due(&p)) { pace_begin(&p); ...; pace_end(&p); }
 */
#ifndef BASE_TEXT_THROTTLE_H
#define BASE_TEXT_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    int64_t began, ended; /* monotonic ns, of the last time */
};

void pace_begin(struct pace *p);
void pace_end(struct pace *p);
bool pace_is_due(const struct pace *p); /* true as long as it was never done */

#endif
