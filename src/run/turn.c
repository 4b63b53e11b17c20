/*
 * Turns: what landed meanwhile, what may begin, whether all is over; and what interrupts them.
 */
#include "run/run_private.h"

#include "run/land/base_lock.h"
#include "run/limits/park.h"
#include "run/prepare/pool.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"
#include "sys/interrupt_child.h"

#include <signal.h>

static bool is_over(const struct run *run)
{
    if (run->jobs)
        return false;
    return run_is_draining(run) || run->stopping || run->failed || run->sched.left == 0;
}

/* A budget may be raised as long as something is under way. */
bool run_is_draining(const struct run *run)
{
    return run->draining || run->budget_spent;
}

static bool may_begin(const struct run *run)
{
    return !run->paused && !run_is_draining(run) && !run->stopping && !run->failed;
}

/* A person may have taken up a task again while the base was being moved. */
static void stop_loop(struct run *run)
{
    if (!is_over(run)) {
        run_wake(run);
        return;
    }
    run->home = true;
    loop_stop(run->loop);
}

/* All that is left to do is to bring the base to the tip. */
static void include_home(struct run *run)
{
    if (run->publication.busy || run->home)
        return;
    if (run->base)
        publish(run, stop_loop);
    else
        stop_loop(run);
}

static void on_turn(void *ctx)
{
    struct run *run = ctx;
    uint32_t task;
    watch_free(run->later);
    run->later = NULL;
    land_turn(run);
    while (may_begin(run) && sched_next(&run->sched, &task)) {
        record(run, EV_TASK_READY, task, NULL);
        attempt_start(run, task);
    }
    land_publish(run);
    if (is_over(run))
        pool_empty(run); /* after which it may not be, yet */
    if (is_over(run))
        include_home(run);
}

void run_wake(struct run *run)
{
    if (!run->later)
        run->later = loop_timer(run->loop, 0, on_turn, run);
}

static void stop_jobs(struct run *run, char order)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].job)
            attempt_stop(run->tasks[i].job, STOP_USER, order);
        watch_free(run->tasks[i].retry);
        run->tasks[i].retry = NULL;
    }
}

void run_fail(struct run *run, const struct err *err)
{
    if (run->failed)
        return;
    run->err = *err;
    run->failed = true;
    stop_jobs(run, GUARD_STOP);
    run_wake(run);
}

void run_drain(struct run *run)
{
    run->draining = true;
    run_wake(run);
}

/* --- signals ------------------------------------------------------------------------------ */

/* The first one asks politely, the second one does not. */
void run_stop(struct run *run, int signal)
{
    bool again = run->stopping;
    if (!run->signal)
        run->signal = signal;
    run->stopping = true;
    if (!again)
        park_save_all(run);
    stop_jobs(run, again ? GUARD_KILL : GUARD_STOP);
    if (again)
        publish_give_up(run);
    run_wake(run);
}

static void on_sigint(void *ctx)
{
    run_stop(ctx, SIGINT);
}

static void on_sigterm(void *ctx)
{
    run_stop(ctx, SIGTERM);
}

static void on_sighup(void *ctx)
{
    run_stop(ctx, SIGHUP);
}

/* ^Z stops all that we started as well, as that of a shell or of make does, and the time does not
 * count. Behind the raise() everything goes on. */
static void on_sigtstp(void *ctx)
{
    struct run *run = ctx;
    int64_t since = clock_mono();
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].job)
            attempt_pause(run->tasks[i].job);
    }
    base_lock_leave(&run->publication.turn); /* others need not wait for that */
    (void)raise(SIGSTOP);
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].job)
            attempt_continue(run->tasks[i].job, clock_mono() - since);
    }
}

static const struct {
    watch_fn *fn;
    int signal;
    bool may_be_ignored; /* by whoever started us: nohup, or a shell without jobs */
    bool hurries;        /* the second time, also a git that is waited for here and now */
} signals[RUN_SIGNALS] = {
    {on_sigint, SIGINT, false, true},
    {on_sigterm, SIGTERM, false, true},
    {on_sighup, SIGHUP, true, true},
    {on_sigtstp, SIGTSTP, true, false},
};

void run_watch_signals(struct run *run)
{
    for (size_t i = 0; i < RUN_SIGNALS; i++) {
        struct sigaction old;
        bool ignored = sigaction(signals[i].signal, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!ignored || !signals[i].may_be_ignored)
            run->signals[i] = loop_signal(run->loop, signals[i].signal, signals[i].fn, run);
        if (run->signals[i] && signals[i].hurries)
            interrupt_by(signals[i].signal);
    }
}
