#include "run/process/plan_command.h"

#include "base/mem.h"
#include "run/agent/inputs.h"
#include "run/attempt/attempt.h"
#include "run/land/clean_tree.h"
#include "run/process/process.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"
#include "sys/time_limits.h"

/* While the run is suspended, the deadline moves. */
static void on_deadline(void *ctx)
{
    struct attempt *attempt = ctx;
    int64_t left = attempt->command.deadline - clock_mono();
    if (left > 0) {
        watch_again(attempt->tick, left);
        return;
    }
    attempt->command.overdue = true;
    process_order(attempt, GUARD_STOP);
}

bool plan_command_is_set(const struct plan_command *cmd)
{
    return cmd->shell || cmd->argv.n;
}

int plan_command_start(struct attempt *attempt, const struct plan_command *cmd, const char *name,
                       int64_t least, void (*next)(struct attempt *, int), struct err *err)
{
    autofree char *out = mem_printf("%s/%s.out", attempt->dir, name);
    autofree char *errlog = mem_printf("%s/%s.err", attempt->dir, name);
    own_cleanup(agent_call_done) struct agent_call call = {0};
    autofree char *cwd =
        attempt->landing.clean_tree ? clean_tree_cwd(attempt) : mem_str(attempt->cwd);
    if (attempt_environment(attempt, &call.env, err) || attempt_command(cmd, cwd, &call))
        return -1;
    if (attempt->landing.clean_tree)
        clean_tree_environment(attempt, &call.env);
    if (process_start_guarded(attempt, &call, NULL, out, errlog, next, err))
        return -1;
    int64_t own =
        task_of(attempt)->timeout > 0 ? task_of(attempt)->timeout : attempt->run->opts.timeout;
    int64_t usual = time_limit_with_commands(least), time = own > usual ? own : usual;
    attempt->command.overdue = false;
    attempt->command.deadline = clock_mono() + time;
    attempt->tick = loop_timer(attempt->run->loop, time, on_deadline, attempt);
    return 0;
}

bool plan_command_ended(struct attempt *attempt)
{
    watch_free(attempt->tick);
    attempt->tick = NULL;
    return !attempt->command.overdue;
}
