#include "run/state/wake.h"

#include "run/state/run_state.h"
#include "sys/proc/loop.h"

void run_wake(struct run *run)
{
    if (!run->turn.timer)
        run->turn.timer = loop_timer(run->loop, 0, run->turn.begin, run);
}
