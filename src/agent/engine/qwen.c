#include "agent/engine/engine.h"

#include "agent/engine/env.h"

#include <signal.h>

static const char *approval_mode(const struct task *task)
{
    if (task->read_only || task->permissions == PERMISSIONS_READ)
        return "default";
    return task->permissions == PERMISSIONS_FULL ? "yolo" : "auto-edit";
}

/* An '@' in a prompt is a file for it, and it puts a blank in front. */
static int build(const struct task *task, const struct agent_context *ctx, struct agent_call *call,
                 struct err *err)
{
    /* It then says what it waits for; else it waits as long, and is silent. */
    static const char unattended[] = "QWEN_CODE_UNATTENDED_RETRY";
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "qwen", "-o", "stream-json", "--approval-mode",
               approval_mode(task), NULL);
    if (task->model)
        strv_pushl(&call->argv, "-m", task->model, NULL);
    if (task->max_turns != PLAN_UNSET) {
        strv_push(&call->argv, "--max-session-turns");
        strv_pushf(&call->argv, "%lld", (long long)task->max_turns);
    }
    engine_args_push(task, &call->argv);
    if (ctx->session)
        strv_pushl(&call->argv, "--resume", ctx->session, NULL);
    env_set(&call->env, "QWEN_CODE_NO_RELAUNCH", "true"); /* see gemini, which it comes from */
    if (!env_has(&call->env, unattended))
        env_set(&call->env, unattended, "true");
    return 0;
}

static bool judge(int exit_code, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason)
{
    (void)err_text;
    (void)ret_reason;
    return engine_gemini_fatal(exit_code, ret_failure);
}

/* A key among its arguments could be seen by everyone on the machine. */
static const struct denied_option denied[] = {
    {"-c", NULL},
    {"--continue", NULL},
    {"--input-format", NULL},
    {"--include-partial-messages", NULL},
    {"--chat-recording", NULL},
    {"--json-fd", NULL},
    {"--json-file", NULL},
    {"--input-file", NULL},
    {"--sandbox-image", NULL},
    {"--channel", NULL},
    {"--openai-api-key", "env"},
    {"--add-dir", "permissions", .reading = true},
    {"--core-tools", "permissions", .reading = true},
    {"--max-session-turns", "max_turns"},
    {0},
};

static const char *const account[] = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "DASHSCOPE_API_KEY",
                                      NULL};

static const char *const keys[] = {"OPENAI_API_KEY", "DASHSCOPE_API_KEY", NULL};

static const char *const chatter[] = {"[qwen-code] Waiting for API capacity", NULL};

const struct engine_def engine_qwen = {
    .program = "qwen",
    .build = build,
    .dialect = &dialect_qwen,
    .interrupt_signal = SIGTERM,
    .idle = ENGINE_IDLE_MS,
    .counts_session = true,
    .continues = true,
    .takes_turns = true,
    .denied = denied,
    .denied_too = engine_gemini_denied,
    .no_persona = true,
    .judge = judge,
    .hear = dialect_qwen_hear,
    .chatter = chatter,
    .account = account,
    .keys = keys,
};
