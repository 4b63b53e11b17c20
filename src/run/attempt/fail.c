#include "run/attempt/fail.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "plan/engine/attempt/verdict.h"
#include "project/secrets.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/state/run_state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void attempt_fail_for(struct attempt *attempt, const struct fail_reason *why)
{
    autobuf struct buf reason = BUF_INIT;
    fail_reason_write(why, &reason);
    attempt_fail(attempt, why->failure, "%s", reason.s);
}

void attempt_set_reason(struct attempt *attempt, enum failure failure, const char *reason)
{
    struct task_run *tr = task_run(attempt);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    struct secrets_cut cut = {.end = strlen(reason) >= DIALECT_TEXT_MAX};
    secrets_mask_cut(&attempt->run->secrets, reason, strlen(reason), cut, &masked);
    text_harmless(&safe, masked.s, masked.len);
    free(tr->reason);
    tr->reason = buf_steal(&safe);
    tr->status.reason = tr->reason;
    tr->status.failure = failure;
    tr->status.exit_code = attempt->command.exit_code;
}

void attempt_fail(struct attempt *attempt, enum failure failure, const char *fmt, ...)
{
    autobuf struct buf reason = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&reason, fmt, ap);
    va_end(ap);
    attempt_set_reason(attempt, failure, reason.s);
    task_report(attempt->run, attempt->task, ENGINE_FAILURE_FOUND);
}

void attempt_fail_stopped(struct attempt *attempt)
{
    const struct run *run = attempt->run;
    if (run->engine->failed)
        attempt_fail(attempt, FAILURE_INTERNAL, "the run could not continue");
    else if (run->engine->stopping)
        attempt_fail(attempt, FAILURE_STOPPED, "the run was stopped");
    else if (attempt->stopped == STOP_BUDGET)
        attempt_fail(attempt, FAILURE_BUDGET, "%s is used up",
                     run->engine->budgets.run.exceeded ? "the run's budget" : "its budget");
    else
        attempt_fail(attempt, FAILURE_STOPPED, "a person stopped it");
}

void attempt_error(struct attempt *attempt, const struct err *err)
{
    attempt_fail(attempt, FAILURE_INTERNAL, "%s", err->msg);
}

void attempt_conflicted(struct attempt *attempt, const char *files)
{
    free(attempt->conflict);
    attempt->conflict = mem_str(files);
    task_report(attempt->run, attempt->task, ENGINE_CONFLICT_FOUND);
}
