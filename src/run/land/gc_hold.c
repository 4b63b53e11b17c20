#include "run/land/gc_hold.h"

#include "base/text/clock.h"
#include "git/gc_lock.h"
#include "sys/time_limits.h"

#include <time.h>

enum { WAIT_MS = 10000, PAUSE_MS = 20, REFRESH_MS = 10 * 60 * 1000 };

static void tell_waiting(struct run *run, pid_t other)
{
    struct err why = {0};
    (void)err_set(&why, ERR_ENV, "waiting for git gc, which is at work here as process %lld",
                  (long long)other);
    record_error(run, -1, &why);
}

static void refresh(void *ctx)
{
    struct run *run = ctx;
    struct err err = {0};
    if (gc_lock_refresh(run->pf->repo.common, run->state_dir, &err))
        record_error(run, -1, &err);
}

void gc_hold_begin(struct run *run)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000 * 1000};
    int64_t deadline = clock_mono() + patience(WAIT_MS);
    struct err err = {0};
    pid_t other = 0;
    if (!run->base)
        return;
    int rc = gc_lock_join(run->pf->repo.common, run->state_dir, &other, &err);
    if (rc == 0 && other)
        tell_waiting(run, other);
    while (rc == 0 && other && clock_mono() < deadline) {
        (void)nanosleep(&pause, NULL);
        rc = gc_lock_join(run->pf->repo.common, run->state_dir, &other, &err);
    }
    if (rc)
        record_error(run, -1, &err);
    run_every(run, REFRESH_MS, refresh, run);
}

void gc_hold_end(struct run *run)
{
    struct err err = {0};
    if (run->base && gc_lock_leave(run->pf->repo.common, run->state_dir, &err))
        record_error(run, -1, &err);
}
