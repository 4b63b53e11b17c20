#include "run/limits/park.h"

#include "agent/reset_time.h"
#include "base/mem.h"
#include "run/limits/lane.h"
#include "run/prepare/prepare.h"
#include "sys/clock.h"

/* If no event told the reset, the agent's messages may. */
static int64_t find_reset(const struct attempt *attempt, int64_t now)
{
    int64_t reset = attempt->report.reset;
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

static struct session_facts find_session(const struct attempt *attempt)
{
    const char *session = park_session(attempt);
    return (struct session_facts){
        .engine_resumes = agent_continues_limited(run_engine(attempt->run, attempt->task)),
        .is_known = session && *session,
        .has_workspace = !attempt->run->base || (attempt->has_workspace && attempt->prepared),
        .tampered = attempt->tamper_error,
    };
}

struct failure_outcome park_decide(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    int64_t now = clock_wall();
    struct retries retries = retries_of(run, task);
    bool has_fallback = lane_fall_back(run, task);
    struct limit_facts f = {.has_fallback = has_fallback,
                            .reset = find_reset(attempt, now),
                            .now = now,
                            .session = find_session(attempt)};
    struct failure_outcome o = failure_at_limit(&f, &retries);
    const char *reason = task_run(attempt)->reason;
    int64_t closed_ms = o.closes_lane ? lane_close(run, task, f.reset, reason) : 0;
    o.delay_ms = o.kind == OUTCOME_PARK ? closed_ms : 0;
    return o;
}

/* The task starts again when its lane opens. A session belongs to one engine and one account, so
 * a resumed session does not use the fallback. */
void park_wait(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    struct task_run *tr = task_run(attempt);
    if (attempt->outcome.workspace == WORKSPACE_PASSED_ON) {
        free(tr->session);
        tr->session = mem_str(park_session(attempt));
        attempt->has_workspace = false; /* the next attempt adopts it */
        lanes_keep(&run->lanes, task);
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
