#include "agent/engine/engine.h"

#include <signal.h>

/* We follow aider's documentation and have never run it. Its output is plain text, it has no
 * sandbox, and it asks before it runs a command; we do not allow any.
 *
 * Files that it writes into its folder for itself would count as the agent's work. So we turn them
 * off: histories, which nobody needs, the repository map, which has a cache there, and lines that
 * it adds to .gitignore. We commit its changes ourselves. */
static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "aider", "--message-file", ctx->prompt_file,
               "--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore",
               "--map-tokens", "0", "--input-history-file", "/dev/null", "--chat-history-file",
               "/dev/null", "--no-pretty", "--no-stream", "--no-check-update",
               "--no-show-release-notes", "--analytics-disable", NULL);
    engine_option_push(&call->argv, "--model", task->model);
    engine_option_push(&call->argv, "--reasoning-effort", engine_effort(task));
    engine_args_push(task, &call->argv);
    if (engine_only_reads(task))
        strv_push(&call->argv, "--dry-run");
    return 0;
}

static const struct denied_option denied[] = {
    {"-m --message --msg -f --message-file --load", "prompt"},
    {"--yes --yes-always --auto-commits --dirty-commits --commit --gitignore "
     "--git --no-git --pretty --stream --gui --browser --watch-files "
     "--restore-chat-history --exit -h --help --version",
     NULL},
    {"--dry-run --no-dry-run", "permissions"},
    {"--api-key --openai-api-key --anthropic-api-key --set-env", "env"},
    {"--model", "model"},
    {"--reasoning-effort", "effort"},
    {0},
};

static const char *const account[] = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
                                      NULL};

static const char *const keys[] = {"ANTHROPIC_API_KEY",  "OPENAI_API_KEY",   "GEMINI_API_KEY",
                                   "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", NULL};

const struct engine_def engine_aider = {
    .program = "aider",
    .build = build_call,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_TOOLS_MS,
    .no_persona = true,
    .untested = true,
    .takes_effort = true,
    .denied = denied,
    .abbreviates = true,
    .account = account,
    .keys = keys,
};
