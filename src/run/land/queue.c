#include "run/land/queue.h"

#include "base/arena.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "workspace/workspace_hold.h"

/* With more attempts than this, a waiting attempt does not keep its workspace open. */
enum { HELD_MAX = 256 };

void land_queue(struct attempt *attempt)
{
    struct run *run = attempt->run;
    task_report_and_record(run, attempt->task, ENGINE_QUEUED);
    if (run->engine->attempts > HELD_MAX)
        workspace_let_go(&attempt->ws);
    run_wake(run);
}

/* If the base could not follow yet, the event names the run's own ref, which has the commit. */
void land_tell(struct run *run, uint32_t task, bool on_base)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "commit", run->tasks[task].landed);
    node_put_string(&a, data, "base", run->base.name);
    if (!on_base)
        node_put_string(&a, data, "kept", run->base.tip_ref);
    task_report(run, task, ENGINE_LANDING_RECORDED);
    record_step(run, EV_TASK_LANDED, task, data);
    arena_done(&a);
}
