#include "agent/engine/engine.h"

#include "agent/engine/env.h"

#include <signal.h>

/* qwen reads an '@' in a prompt as a file name and inserts a blank before it. */
static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    /* With this variable qwen reports why it waits; without it, it waits as long in silence. */
    static const char unattended[] = "QWEN_CODE_UNATTENDED_RETRY";
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "qwen", "-o", "stream-json", "--approval-mode",
               engine_gemini_approval(task, "auto-edit"), NULL);
    engine_option_push(&call->argv, "-m", task->model);
    if (task->max_turns != PLAN_UNSET) {
        strv_push(&call->argv, "--max-session-turns");
        strv_pushf(&call->argv, "%lld", (long long)task->max_turns);
    }
    engine_args_push(task, &call->argv);
    engine_option_push(&call->argv, "--resume", ctx->session);
    env_set(&call->env, "QWEN_CODE_NO_RELAUNCH",
            "true"); /* see gemini.c: qwen is derived from gemini */
    if (!env_has(&call->env, unattended))
        env_set(&call->env, unattended, "true");
    return 0;
}

static bool judge_exit(int exit_code, const char *err_text, enum failure *ret_failure,
                       struct buf *ret_reason)
{
    (void)err_text;
    (void)ret_reason;
    return engine_gemini_fatal(exit_code, ret_failure);
}

/* Everyone on the machine could see a key among its arguments. */
static const struct denied_option denied[] = {
    {"-c --continue --input-format --include-partial-messages --chat-recording "
     "--json-fd --json-file --input-file --sandbox-image --channel",
     NULL},
    {"--openai-api-key", "env"},
    {"--add-dir --core-tools", "permissions", .reading = true},
    {"--max-session-turns", "max_turns"},
    {0},
};

static const char *const account[] = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "DASHSCOPE_API_KEY",
                                      NULL};

static const char *const keys[] = {"OPENAI_API_KEY", "DASHSCOPE_API_KEY", NULL};

static const char *const log_marks[] = {"[qwen-code] Waiting for API capacity", NULL};

const struct engine_def engine_qwen = {
    .program = "qwen",
    .build = build_call,
    .dialect = &dialect_qwen,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_MS,
    .usage_is_cumulative = true,
    .resumes = true,
    .takes_turns = true,
    .denied = denied,
    .shared_denied = engine_gemini_denied,
    .no_persona = true,
    .judge_exit = judge_exit,
    .read_stderr = dialect_qwen_hear,
    .log_marks = log_marks,
    .account = account,
    .keys = keys,
};
