#include "run/limits/park.h"

#include "agent/reset_time.h"
#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/attempt/salvage.h"
#include "run/limits/lane.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/clock.h"

/* If no event told the reset, the agent's messages may. */
static int64_t find_reset(const struct attempt *attempt, int64_t now)
{
    int64_t reset = attempt->agent.report.reset;
    autobuf struct buf errs = BUF_INIT;
    attempt_read_tail(attempt, "err", &errs);
    const char *const messages[] = {attempt->agent.report.reason.s, errs.s,
                                    attempt->agent.report.text.s};
    for (size_t i = 0; !reset && i < ARRAY_LEN(messages); i++)
        reset = reset_time(messages[i], now);
    return reset;
}

static struct session_facts find_session(const struct attempt *attempt)
{
    const char *session = attempt_session(attempt);
    return (struct session_facts){
        .engine_resumes = agent_continues_limited(run_engine(attempt->run, attempt->task)),
        .is_known = session && *session,
        .has_workspace =
            !attempt->run->base.name || (attempt->has_workspace && attempt->prepare.done),
        .tampered = attempt->tamper_error,
    };
}

struct failure_outcome park_decide(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    int64_t now = clock_wall();
    struct limit_facts f = {
        .reset = find_reset(attempt, now), .now = now, .session = find_session(attempt)};
    const struct engine_event ev = {
        .kind = ENGINE_LIMIT_MET, .task = task, .now = now, .random = retry_random(), .limit = f};
    return lane_report(run, &ev, task_run(attempt)->reason);
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
        tr->session = mem_str(attempt_session(attempt));
        attempt->has_workspace = false; /* the next attempt adopts it */
        task_report_if(run, task, ENGINE_SESSION_KEPT, false);
    }
    attempt_free(attempt);
    task_report(run, task, ENGINE_PARKED);
}

static void save_workspace(struct run *run, uint32_t task)
{
    struct attempt *attempt = attempt_new(run, task, run->tasks[task].status.attempts);
    prepare_adopt(attempt, attempt->number);
    attempt->prepare.done = true;
    attempt->agent.started = 1; /* an agent has worked in it */
    (void)attempt_salvage_since(
        attempt, run->tasks[task].start,
        "the run was stopped while the task was parked"); /* a failure is recorded */
    attempt->has_workspace = false;
    attempt_free(attempt);
}

void park_save_all(struct run *run)
{
    for (uint32_t t = 0; run->base.name && t < run->pf->plan.task_count; t++) {
        const struct task_run *tr = &run->tasks[t];
        if (tr->life->parked && tr->session && !tr->attempt)
            save_workspace(run, t);
    }
}
