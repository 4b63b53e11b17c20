#include "run/attempt/plan_command.h"

#include "base/mem.h"
#include "run/attempt/inputs.h"
#include "run/land/clean_tree.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"
#include "sys/time_limits.h"

/* While the run is suspended, the deadline moves. */
static void on_deadline(void *ctx)
{
    struct attempt *job = ctx;
    int64_t left = job->deadline - clock_mono();
    if (left > 0) {
        watch_again(job->tick, left);
        return;
    }
    job->overdue = true;
    process_order(job, GUARD_STOP);
}

bool plan_command_is_set(const struct plan_command *cmd)
{
    return cmd->shell || cmd->argv.n;
}

int plan_command_start(struct attempt *job, const struct plan_command *cmd, const char *name,
                       int64_t least, void (*next)(struct attempt *, int), struct err *err)
{
    autofree char *out = mem_printf("%s/%s.out", job->dir, name);
    autofree char *errlog = mem_printf("%s/%s.err", job->dir, name);
    own_cleanup(agent_call_done) struct agent_call call = {0};
    autofree char *cwd = job->clean ? clean_tree_cwd(job) : mem_str(job->cwd);
    if (attempt_environment(job, &call.env, err) || attempt_command(cmd, cwd, &call))
        return -1;
    if (job->clean)
        clean_tree_environment(job, &call.env);
    if (process_start_guarded(job, &call, NULL, out, errlog, next, err))
        return -1;
    int64_t own = task_of(job)->timeout > 0 ? task_of(job)->timeout : job->run->opts.timeout;
    int64_t usual = time_limit_with_commands(least), time = own > usual ? own : usual;
    job->overdue = false;
    job->deadline = clock_mono() + time;
    job->tick = loop_timer(job->run->loop, time, on_deadline, job);
    return 0;
}

bool plan_command_ended(struct attempt *job)
{
    watch_free(job->tick);
    job->tick = NULL;
    return !job->overdue;
}
