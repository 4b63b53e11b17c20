/*
 * Moments at which a test lets the program die as by SIGKILL: around each write of the journal.
 * ANABRANCH_KILL_AT=3 dies right before the third write of this process, ANABRANCH_KILL_AT=3+ right
 * after it. Only in a build with -Dkill_points=true; in any other the calls are nothing.
 */
#ifndef SYS_TEST_KILL_POINT_H
#define SYS_TEST_KILL_POINT_H

#include <stdbool.h>

#if ANABRANCH_KILL_POINTS
void kill_point(bool written); /* first without, then with the write performed */
#else
static inline void kill_point(bool written)
{
    (void)written;
}
#endif

#endif
