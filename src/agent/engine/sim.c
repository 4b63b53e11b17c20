#include "agent/engine/engine.h"

#include <signal.h>

static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)task;
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : ctx->self, "__sim", NULL);
    engine_option_push(&call->argv, "--session", ctx->session);
    return 0;
}

static const char *const account[] = {"SIM_ACCOUNT", NULL};

/* It replaces any other engine and follows only its script, so it accepts every option. */
static const struct denied_option denied[] = {{0}};

const struct engine_def engine_sim = {
    .build = build_call,
    .dialect = &dialect_sim,
    .interrupt_signal = SIGTERM,
    .resumes_limited = true,
    .resumes_ended = true,
    .takes_effort = true,
    .takes_turns = true,
    .denied = denied,
    .account = account,
};
