/*
 * Each turn of the run lands finished work, starts tasks and ends the run when nothing is left.
 * Signals stop or suspend it. When the result is recorded, observers may still have open work.
 */
#include "run/turn.h"

#include "plan/engine/engine.h"
#include "run/attempt/attempt.h"
#include "run/attempt/start.h"
#include "run/checkout/base_lock.h"
#include "run/land/land.h"
#include "run/land/publish.h"
#include "run/limits/park.h"
#include "run/prepare/pool.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/wake.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"
#include "sys/interrupt_child.h"
#include "sys/proc/loop.h"

#include <signal.h>

static bool is_busy(const struct observer *o)
{
    return o->work && !o->work->is_idle(o->ctx);
}

/* At the end we wait for one observer after the other, the last one first. */
static struct observer *find_busy_observer(const struct run *run)
{
    for (size_t i = run->audience.observers.n; i-- > 0;) {
        if (is_busy(&run->audience.observers.v[i]))
            return &run->audience.observers.v[i];
    }
    return NULL;
}

static struct engine_event describe_turn(const struct run *run, enum engine_event_kind kind)
{
    return (struct engine_event){.kind = kind,
                                 .task = -1,
                                 .facts = {.has_base = run->base.name,
                                           .pool_filled = pool_has(run),
                                           .observers_busy = find_busy_observer(run)}};
}

static void start_tasks(struct run *run)
{
    const struct engine_event ask = {.kind = ENGINE_STARTS_NEXT, .task = -1};
    struct action a;
    while (run_ask(run, &ask, &a)) {
        record(run, EV_TASK_READY, a.task, NULL);
        attempt_start(run, (uint32_t)a.task, a.start);
    }
}

static void on_last_publication(struct run *run)
{
    const struct engine_event ev = describe_turn(run, ENGINE_PUBLISHED_LAST);
    (void)run_report(run, &ev);
}

void do_publish_last(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    publish(run, on_last_publication);
}

/* Emptying the pool may add work. */
static void end_turn(struct run *run)
{
    bool emptied = pool_has(run);
    struct engine_event ev = describe_turn(run, ENGINE_TURN_ENDED);
    (void)run_report(run, &ev);
    if (!emptied || pool_has(run))
        return;
    ev = describe_turn(run, ENGINE_TURN_ENDED);
    (void)run_report(run, &ev);
}

static void on_deadline(void *ctx)
{
    const struct observer *o = ctx;
    o->work->give_up(o->ctx);
}

/* The time of an observer begins when no other one is waited for. */
static void wait_for_observer(struct run *run)
{
    struct observer *o = find_busy_observer(run);
    if (o && !o->deadline)
        o->deadline = loop_timer(run->loop, o->work->patience_ms, on_deadline, o);
    const struct engine_event ev = describe_turn(run, ENGINE_TURN_ENDED);
    (void)run_report(run, &ev);
}

void run_finish(struct run *run)
{
    int rc = 0;
    run_report_kind(run, ENGINE_RECORDED);
    run_wake(run);
    while (rc == 0 && find_busy_observer(run))
        rc = loop_run(run->loop, NULL);
    for (size_t i = 0; rc && i < run->audience.observers.n; i++) { /* the loop is broken */
        if (is_busy(&run->audience.observers.v[i]))
            on_deadline(&run->audience.observers.v[i]);
    }
    run_report_kind(run, ENGINE_CLOSED);
}

static void on_turn(void *ctx)
{
    struct run *run = ctx;
    watch_free(run->turn.timer);
    run->turn.timer = NULL;
    if (run->engine->phase == RUN_FINISHING) {
        wait_for_observer(run);
        return;
    }
    land_turn(run);
    start_tasks(run);
    land_publish(run);
    end_turn(run);
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

void do_give_up(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    const struct observer *o = find_busy_observer(run);
    if (o)
        o->work->give_up(o->ctx);
}

void do_stop_agents(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    if (a->yes)
        park_save_all(run);
    stop_attempts(run, GUARD_STOP);
}

void do_kill_agents(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    stop_attempts(run, GUARD_KILL);
    publish_give_up(run);
}

void run_stop(struct run *run, int signal)
{
    bool stopped_before = run->engine->stopping;
    run_report_kind(run, ENGINE_INTERRUPTED);
    if (run->engine->stopping && !stopped_before)
        run->turn.signal = signal;
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
    bool may_be_ignored; /* ignored by our parent: nohup, or a shell without job control */
    bool hurries;        /* a second signal also ends a git that we wait for synchronously */
} signals[RUN_SIGNALS] = {
    {on_sigint, SIGINT, false, true},
    {on_sigterm, SIGTERM, false, true},
    {on_sighup, SIGHUP, true, true},
    {on_sigtstp, SIGTSTP, true, false},
};

void run_set_turns(struct run *run)
{
    run->turn.begin = on_turn;
}

void run_watch_signals(struct run *run)
{
    for (size_t i = 0; i < RUN_SIGNALS; i++) {
        struct sigaction old;
        bool ignored = sigaction(signals[i].signal, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!ignored || !signals[i].may_be_ignored)
            run->turn.signals[i] = loop_signal(run->loop, signals[i].signal, signals[i].fn, run);
        if (run->turn.signals[i] && signals[i].hurries)
            interrupt_by(signals[i].signal);
    }
}
