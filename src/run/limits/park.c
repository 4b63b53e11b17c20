#include "run/limits/park.h"

#include "agent/reset_time.h"
#include "base/mem.h"
#include "run/limits/lane.h"
#include "run/prepare/prepare.h"
#include "sys/clock.h"

/* If no event told the reset, the agent's messages may. */
int64_t park_reset(const struct attempt *attempt)
{
    int64_t now = clock_wall(), reset = attempt->report.reset;
    autobuf struct buf errs = BUF_INIT;
    attempt_read_tail(attempt, "err", &errs);
    const char *const messages[] = {attempt->report.reason.s, errs.s, attempt->report.text.s};
    for (size_t i = 0; !reset && i < ARRAY_LEN(messages); i++)
        reset = reset_time(messages[i], now);
    return reset;
}

const char *park_session(const struct attempt *attempt)
{
    return attempt->report.session.len ? attempt->report.session.s : attempt->session;
}

/* We do not resume a session that changed files outside its workspace. */
static bool can_resume(const struct attempt *attempt)
{
    const char *session = park_session(attempt);
    bool whole = attempt->run->base ? attempt->has_workspace && attempt->prepared : true;
    return agent_continues_limited(run_engine(attempt->run, attempt->task)) && session &&
           *session && whole && !attempt->tamper_error;
}

int64_t park(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct task_run *tr = task_run(attempt);
    int64_t reset = park_reset(attempt);
    bool known = reset > clock_wall();
    struct retries retries = retries_of(run, attempt->task);
    bool left = retries.used[FAILURE_LIMIT] < retry_times(&retries, FAILURE_LIMIT);
    if (!retry_parks(&retries) || (!known && !left) || retries.budget_spent)
        return -1;
    tr->retries_used[FAILURE_LIMIT] += known ? 0 : 1;
    attempt->parks = true;
    attempt->keeps = can_resume(attempt);
    attempt->limit_resets_at = known ? reset : 0;
    return lane_close(run, attempt->task, reset, tr->reason);
}

/* The task starts again when its lane opens. A session belongs to one engine and one account, so
 * a resumed session does not use the fallback. */
void park_wait(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    struct task_run *tr = task_run(attempt);
    if (attempt->keeps) {
        free(tr->session);
        tr->session = mem_str(park_session(attempt));
        attempt->has_workspace = false; /* the next attempt adopts it */
        sched_set_lanes(&run->sched, task, tr->uses_fallback ? tr->fallback_lane : tr->lane, -1);
    }
    tr->parked = true;
    attempt_free(attempt);
    sched_set_aside(&run->sched, task);
    sched_ready(&run->sched, task);
}

static void save_workspace(struct run *run, uint32_t task)
{
    struct attempt *attempt = attempt_new(run, task, run->tasks[task].status.attempts);
    prepare_adopt(attempt, attempt->number);
    attempt->prepared = true;
    attempt->agent_started = 1; /* an agent has worked in it */
    (void)attempt_salvage_since(
        attempt, run->tasks[task].start,
        "the run was stopped while the task was parked"); /* a failure is recorded */
    attempt->has_workspace = false;
    attempt_free(attempt);
}

void park_save_all(struct run *run)
{
    for (uint32_t t = 0; run->base && t < run->pf->plan.task_count; t++) {
        const struct task_run *tr = &run->tasks[t];
        if (tr->parked && tr->session && !tr->attempt)
            save_workspace(run, t);
    }
}
