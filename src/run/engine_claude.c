#include "run/engines.h"

#include <signal.h>
#include <unistd.h>

static void add_permissions(const struct task *task, struct agent_call *call)
{
    if (task->read_only || task->permissions == PERMISSIONS_READ) {
        strv_pushl(&call->argv, "--permission-mode", "plan", NULL);
    } else if (task->permissions == PERMISSIONS_FULL) {
        strv_push(&call->argv, "--dangerously-skip-permissions");
        if (geteuid() == 0) /* it refuses as root unless told that it is in a sandbox */
            strv_push(&call->env, "IS_SANDBOX=1");
    } else {
        strv_pushl(&call->argv, "--permission-mode", "acceptEdits", "--allowedTools", "Bash(git *)",
                   "Bash(make *)", NULL);
    }
}

static int build(const struct task *task, const struct agent_context *ctx, struct agent_call *call,
                 struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "claude", "-p", "--output-format", "stream-json",
               "--verbose", NULL);
    if (task->agent)
        strv_pushl(&call->argv, "--agent", task->agent, NULL);
    if (task->model)
        strv_pushl(&call->argv, "--model", task->model, NULL);
    if (ctx->session)
        strv_pushl(&call->argv, "--resume", ctx->session, NULL);
    if (ctx->usd >= 0) { /* it looks after each answer; so do we, at what it then tells */
        strv_push(&call->argv, "--max-budget-usd");
        strv_pushf(&call->argv, "%.4f", ctx->usd);
    }
    add_permissions(task, call);
    return 0;
}

static const char *const account[] = {"ANTHROPIC_API_KEY",  "ANTHROPIC_AUTH_TOKEN",
                                      "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
                                      "CLAUDE_CONFIG_DIR",  NULL};

/* What its tools have started lives in sessions of its own: only SIGINT ends that as well. */
const struct engine_def engine_claude = {
    .program = "claude",
    .build = build,
    .dialect = &dialect_claude,
    .stop_signal = SIGINT,
    .idle = ENGINE_IDLE_MS,
    .continues = true,
    .account = account,
};
