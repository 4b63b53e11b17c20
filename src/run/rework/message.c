#include "run/rework/message.h"

#include "base/mem.h"
#include "plan/engine/engine.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/report.h"
#include "run/rework/continue_session.h"
#include "run/rework/repair.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"

#include <stdlib.h>

char *message_join(const char *first, const char *words)
{
    return first ? mem_printf("%s\n\n%s", first, words) : mem_str(words);
}

void message_pass_on(struct attempt *attempt)
{
    struct task_run *tr = task_run(attempt);
    autofree char *words = steal_ptr(tr->pending_message);
    if (!words)
        return;
    autofree char *all = message_join(attempt->has_feedback ? tr->feedback : NULL, words);
    attempt_tell(attempt, all);
}

bool message_deliver(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct task_run *tr = task_run(attempt);
    autofree char *words = steal_ptr(tr->pending_message);
    struct err err = {0};
    if (!words)
        return false;
    if (engine_is_ending(run->engine) || engine_is_draining(run->engine)) {
        (void)err_set(&err, ERR_ENV, "its agent did not get the message: the run ends");
        record_error(run, attempt->task, &err);
        return false;
    }
    task_set(&tr->session, NULL, attempt_session(attempt));
    const struct engine_event ev = {.kind = ENGINE_SESSION_RESUMED,
                                    .task = attempt->task,
                                    .next = {.repair = REPAIR_OWN, .has_message = true}};
    (void)run_report(run, &ev);
    free(tr->feedback);
    tr->feedback = mem_str(words);
    continue_session_record(run, attempt->task, words);
    repair_wait(attempt);
    return true;
}
