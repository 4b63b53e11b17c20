#include "run/attempt/start.h"

#include "run/attempt/attempt.h"
#include "run/attempt/attempt_dir.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/land/queue.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/rework/repair.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/proc/boot_id.h"

#include <stdlib.h>

/* Landing needs no worker. */
static void land_prepared(struct attempt *attempt)
{
    task_report(attempt->run, attempt->task, ENGINE_WORKER_FREED);
    land_queue(attempt);
}

static void record_preparing(struct run *run, uint32_t task)
{
    free(steal_ptr(run->tasks[task].last_session));
    record_task_event(run, EV_TASK_PREPARING, task, NULL);
}

static void prepare_for(struct attempt *attempt, enum task_start start)
{
    switch (start) {
    case START_NEW:
        prepare(attempt);
        break;
    case START_LANDING:
        prepare_again(attempt, land_prepared);
        break;
    case START_RESUMED:
        prepare_adopted(attempt);
        break;
    case START_RESTORED:
        repair_make_again(attempt);
        break;
    }
}

void attempt_start(struct run *run, uint32_t task, enum task_start start)
{
    struct task_run *tr = &run->tasks[task];
    tr->status.attempts += start != START_LANDING;
    struct attempt *attempt = attempt_new(run, task, tr->status.attempts);
    autofree char *boot = attempt_file(attempt, "boot");
    struct err err = {0};
    if (!tr->status.started)
        tr->status.started = clock_wall();
    attempt->agent.session = steal_ptr(tr->session);
    if (!attempt->agent.session)
        record_preparing(run, task);
    if (attempt_dir_make(attempt, &err) || (run->base.name && boot_note(boot, &err)))
        attempt_error(attempt, &err);
    else
        prepare_for(attempt, start);
}
