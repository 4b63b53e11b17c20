#include "run/limits/park.h"

#include "agent/reset_time.h"
#include "base/mem.h"
#include "run/limits/budget.h"
#include "run/limits/lane.h"
#include "run/prepare/prepare.h"
#include "sys/clock.h"

/* If no event told the reset, the agent's messages may. */
int64_t park_reset(const struct attempt *job)
{
    int64_t now = clock_wall(), reset = job->report.reset;
    autobuf struct buf errs = BUF_INIT;
    attempt_read_tail(job, "err", &errs);
    const char *const messages[] = {job->report.reason.s, errs.s, job->report.text.s};
    for (size_t i = 0; !reset && i < ARRAY_LEN(messages); i++)
        reset = reset_time(messages[i], now);
    return reset;
}

const char *park_session(const struct attempt *job)
{
    return job->report.session.len ? job->report.session.s : job->session;
}

/* We do not resume a session that changed files outside its workspace. */
static bool can_resume(const struct attempt *job)
{
    const char *session = park_session(job);
    bool whole = job->run->base ? job->has_workspace && job->prepared : true;
    return agent_continues_limited(run_engine(job->run, job->task)) && session && *session &&
           whole && !job->tampered;
}

int64_t park(struct attempt *job)
{
    struct run *run = job->run;
    struct task_run *tr = task_run(job);
    int64_t reset = park_reset(job);
    bool known = reset > clock_wall();
    bool bounded = !known && tr->tried[FAILURE_LIMIT] >= retry_times(run, job->task, FAILURE_LIMIT);
    if (!retry_parks(run, job->task) || bounded || budget_is_spent(run, job->task))
        return -1;
    tr->tried[FAILURE_LIMIT] += known ? 0 : 1;
    job->parks = true;
    job->keeps = can_resume(job);
    job->reset = known ? reset : 0;
    return lane_close(run, job->task, reset, tr->reason);
}

/* The task starts again when its lane opens. A session belongs to one engine and one account, so
 * a resumed session does not use the fallback. */
void park_wait(struct attempt *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    struct task_run *tr = task_run(job);
    if (job->keeps) {
        free(tr->session);
        tr->session = mem_str(park_session(job));
        job->has_workspace = false; /* the next attempt adopts it */
        sched_set_lanes(&run->sched, task, tr->falls_back ? tr->spare : tr->lane, -1);
    }
    tr->parked = true;
    attempt_free(job);
    sched_set_aside(&run->sched, task);
    sched_ready(&run->sched, task);
}

static void save_workspace(struct run *run, uint32_t task)
{
    struct attempt *job = attempt_new(run, task, run->tasks[task].status.attempts);
    prepare_adopt(job, job->attempt);
    job->prepared = true;
    job->agent_started = 1; /* an agent has worked in it */
    (void)attempt_salvage_since(
        job, run->tasks[task].start,
        "the run was stopped while the task was parked"); /* a failure is recorded */
    job->has_workspace = false;
    attempt_free(job);
}

void park_save_all(struct run *run)
{
    for (uint32_t t = 0; run->base && t < run->pf->plan.task_count; t++) {
        const struct task_run *tr = &run->tasks[t];
        if (tr->parked && tr->session && !tr->job)
            save_workspace(run, t);
    }
}
