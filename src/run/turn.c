/*
 * Each turn of the run lands finished work, starts tasks and ends the run when nothing is left.
 * Signals stop or suspend it.
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
    if (run->attempts)
        return false;
    return run_is_draining(run) || run->stopping || run->failed || run->sched.left == 0;
}

/* A user may raise the budget while attempts are running. */
bool run_is_draining(const struct run *run)
{
    return run->draining || run->budgets.run.exceeded;
}

static bool may_start_tasks(const struct run *run)
{
    return !run->paused && !run_is_draining(run) && !run->stopping && !run->failed;
}

/* A person may have retried a task while we moved the base. */
static void stop_loop(struct run *run)
{
    if (!is_over(run)) {
        run_wake(run);
        return;
    }
    run->loop_stopped = true;
    loop_stop(run->loop);
}

/* Moves the base to the tip one last time, then stops the loop. */
static void publish_and_stop(struct run *run)
{
    if (publication_is_busy(&run->publication) || run->loop_stopped)
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
    watch_free(run->turn_timer);
    run->turn_timer = NULL;
    land_turn(run);
    while (may_start_tasks(run) && sched_next(&run->sched, &task)) {
        record(run, EV_TASK_READY, task, NULL);
        attempt_start(run, task);
    }
    land_publish(run);
    if (is_over(run))
        pool_empty(run); /* emptying the pool may add work */
    if (is_over(run))
        publish_and_stop(run);
}

void run_wake(struct run *run)
{
    if (!run->turn_timer)
        run->turn_timer = loop_timer(run->loop, 0, on_turn, run);
}

static void stop_attempts(struct run *run, char order)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].attempt)
            attempt_stop(run->tasks[i].attempt, STOP_USER, order);
        watch_free(run->tasks[i].retry_timer);
        run->tasks[i].retry_timer = NULL;
    }
}

void run_fail(struct run *run, const struct err *err)
{
    if (run->failed)
        return;
    run->err = *err;
    run->failed = true;
    stop_attempts(run, GUARD_STOP);
    run_wake(run);
}

void run_drain(struct run *run)
{
    run->draining = true;
    run_wake(run);
}

/* The first signal asks agents to stop, the second kills them. */
void run_stop(struct run *run, int signal)
{
    bool again = run->stopping;
    if (!run->signal)
        run->signal = signal;
    run->stopping = true;
    if (!again)
        park_save_all(run);
    stop_attempts(run, again ? GUARD_KILL : GUARD_STOP);
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

/* ^Z also stops every process that we started, as a shell or make does. After raise() returns
 * everything continues, and timeouts ignore the time in between. */
static void on_sigtstp(void *ctx)
{
    struct run *run = ctx;
    int64_t since = clock_mono();
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].attempt)
            attempt_pause(run->tasks[i].attempt);
    }
    base_lock_leave(&run->publisher.lock); /* others need not wait for us */
    (void)raise(SIGSTOP);
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (run->tasks[i].attempt)
            attempt_continue(run->tasks[i].attempt, clock_mono() - since);
    }
}

static const struct {
    watch_fn *fn;
    int signal;
    bool may_be_ignored; /* ignored by our parent: nohup, or a shell without attempt control */
    bool hurries;        /* a second signal also ends a git that we wait for synchronously */
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
