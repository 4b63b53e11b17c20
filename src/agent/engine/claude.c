#include "agent/engine/engine.h"
#include "agent/engine/env.h"

#include <signal.h>
#include <unistd.h>

static void add_permissions(const struct task *task, struct agent_call *call)
{
    if (engine_only_reads(task)) {
        strv_pushl(&call->argv, "--permission-mode", "plan", NULL);
    } else if (task->permissions == PERMISSIONS_FULL) {
        strv_push(&call->argv, "--dangerously-skip-permissions");
        if (geteuid() ==
            0) /* claude refuses to run as root unless it believes that it is in a sandbox */
            strv_push(&call->env, "IS_SANDBOX=1");
    } else {
        strv_pushl(&call->argv, "--permission-mode", "acceptEdits", "--allowedTools", "Bash(git *)",
                   "Bash(make *)", NULL);
    }
}

static void add_options(const struct task *task, struct agent_call *call)
{
    engine_option_push(&call->argv, "--effort", engine_effort(task));
    if (task->max_turns != PLAN_UNSET) {
        strv_push(&call->argv, "--max-turns");
        strv_pushf(&call->argv, "%lld", (long long)task->max_turns);
    }
    engine_args_push(task, &call->argv);
}

/* By default claude retries ten times within three minutes, even with an invalid key. We limit
 * this, because we wait without keeping a worker busy, and show it. */
static void limit_retries(struct agent_call *call)
{
    static const char name[] = "CLAUDE_CODE_MAX_RETRIES";
    if (!env_has(&call->env, name))
        env_set(&call->env, name, "%d", 2);
}

static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "claude", "-p", "--output-format", "stream-json",
               "--verbose", NULL);
    engine_option_push(&call->argv, "--agent", task->agent);
    engine_option_push(&call->argv, "--model", task->model);
    engine_option_push(&call->argv, "--resume", ctx->session);
    if (ctx->usd >= 0) { /* claude checks the budget after each answer; we check it too, with the
                            usage that it reports then */
        strv_push(&call->argv, "--max-budget-usd");
        strv_pushf(&call->argv, "%.4f", ctx->usd);
    }
    add_options(task, call);
    add_permissions(task, call);
    limit_retries(call);
    return 0;
}

static const struct denied_option denied[] = {
    {"-p --print --output-format --input-format --include-partial-messages "
     "--replay-user-messages -r --resume -c --continue --from-pr "
     "--fork-session --session-id --no-session-persistence -w --worktree "
     "--tmux --bg --background --remote-control --ide -h --help -v --version",
     NULL},
    {"--permission-mode --permission-prompt-tool "
     "--dangerously-skip-permissions --allow-dangerously-skip-permissions",
     "permissions"},
    {"--allowedTools --allowed-tools --add-dir --settings", "permissions", .reading = true},
    {"--agent", "agent"},
    {"--model", "model"},
    {"--effort", "effort"},
    {"--max-turns", "max_turns"},
    {"--max-budget-usd", "budget"},
    {0},
};

static const char *const account[] = {"ANTHROPIC_API_KEY",  "ANTHROPIC_AUTH_TOKEN",
                                      "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
                                      "CLAUDE_CONFIG_DIR",  NULL};

static const char *const keys[] = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                                   "CLAUDE_CODE_OAUTH_TOKEN", NULL};

/* Its tools start processes in sessions of their own: only SIGINT ends these too. */
const struct engine_def engine_claude = {
    .program = "claude",
    .build = build_call,
    .dialect = &dialect_claude,
    .interrupt_signal = SIGINT,
    .idle_ms = ENGINE_IDLE_MS,
    .resumes = true,
    .takes_effort = true,
    .takes_turns = true,
    .denied = denied,
    .account = account,
    .keys = keys,
};
