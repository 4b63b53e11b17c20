/*
 * Points at which a test can kill the program as by SIGKILL: before and after each write of the
 * journal. ANABRANCH_KILL_AT=3 kills it right before the third write of this process,
 * ANABRANCH_KILL_AT=3+ right after it. Only in a build with -Dkill_points=true; otherwise the calls
 * do nothing.
 */
#ifndef SYS_TEST_KILL_POINT_H
#define SYS_TEST_KILL_POINT_H

#include <stdbool.h>

#if ANABRANCH_KILL_POINTS
void kill_point(bool written); /* call it with false before the write and with true after it */
#else
static inline void kill_point(bool written)
{
    (void)written;
}
#endif

#endif
