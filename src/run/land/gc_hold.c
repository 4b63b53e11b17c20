#include "run/land/gc_hold.h"

#include "git/gc_lock.h"
#include "run/run.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/interrupt.h"
#include "sys/time_limits.h"

#include <time.h>

enum { WAIT_MS = 10000, PAUSE_MS = 20, RETRY_MS = 1000, REFRESH_MS = 10 * 60 * 1000 };

static void report_gc(struct run *run, pid_t other)
{
    struct err why = {0};
    (void)err_set(&why, ERR_ENV, "waiting for git gc, which runs here as process %lld",
                  (long long)other);
    record_error(run, -1, &why);
}

/* Waits for another process's gc; *other is 0 when it has ended. */
static int await_gc(const char *common, const char *state_dir, pid_t *other, struct err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000 * 1000};
    int64_t deadline = clock_mono() + time_limit(WAIT_MS);
    int rc = 0;
    while (rc == 0 && *other && !interrupt_signal() && clock_mono() < deadline) {
        (void)nanosleep(&pause, NULL);
        rc = gc_lock_join(common, state_dir, other, err);
    }
    return rc;
}

static void refresh_gc_lock(void *ctx)
{
    struct run *run = ctx;
    struct err err = {0};
    if (gc_lock_refresh(run->pf->repo.common, run->files.state, &err))
        record_error(run, -1, &err);
}

static void retry_gc_lock(void *ctx)
{
    struct run *run = ctx;
    struct err err = {0};
    pid_t other = 0;
    if (!run->notices.gc_waits)
        return;
    if (gc_lock_join(run->pf->repo.common, run->files.state, &other, &err))
        record_error(run, -1, &err);
    run->notices.gc_waits = other != 0;
}

void gc_hold_begin(struct run *run)
{
    const char *common = run->pf->repo.common;
    struct err err = {0};
    pid_t other = 0;
    if (!run->base.name)
        return;
    int rc = gc_lock_join(common, run->files.state, &other, &err);
    if (rc == 0 && other)
        report_gc(run, other);
    if (rc || await_gc(common, run->files.state, &other, &err))
        record_error(run, -1, &err);
    run->notices.gc_waits = other != 0;
    if (run->notices.gc_waits)
        run_every(run, RETRY_MS, retry_gc_lock, run);
    run_every(run, REFRESH_MS, refresh_gc_lock, run);
}

void gc_hold_end(struct run *run)
{
    struct err err = {0};
    if (run->base.name && gc_lock_leave(run->pf->repo.common, run->files.state, &err))
        record_error(run, -1, &err);
}

void gc_hold_take(const char *common, const char *state_dir, void (*waiting)(const char *whom))
{
    struct err none = {0};
    pid_t other = 0;
    int rc = gc_lock_join(common, state_dir, &other, &none);
    if (rc == 0 && other && waiting)
        waiting("git gc, which runs here");
    if (rc == 0)
        (void)await_gc(common, state_dir, &other, &none);
}

void gc_hold_leave(const char *common, const char *state_dir)
{
    struct err none = {0};
    (void)gc_lock_leave(common, state_dir,
                        &none); /* a lock that stays belongs to a dead process and has no effect */
}
