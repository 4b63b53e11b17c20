#include "run/engines.h"

#include "run/env.h"

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
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "qwen", "-o", "stream-json", "--approval-mode",
               approval_mode(task), NULL);
    if (task->model)
        strv_pushl(&call->argv, "-m", task->model, NULL);
    if (ctx->session)
        strv_pushl(&call->argv, "--resume", ctx->session, NULL);
    env_set(&call->env, "QWEN_CODE_NO_RELAUNCH", "true"); /* see gemini, which it comes from */
    return 0;
}

static bool judge(int exit_code, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason)
{
    (void)err_text;
    (void)ret_reason;
    return engine_gemini_fatal(exit_code, ret_failure);
}

static const char *const account[] = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "DASHSCOPE_API_KEY",
                                      NULL};

const struct engine_def engine_qwen = {
    .program = "qwen",
    .build = build,
    .dialect = &dialect_qwen,
    .stop_signal = SIGTERM,
    .idle = ENGINE_IDLE_MS,
    .counts_session = true,
    .continues = true,
    .no_persona = true,
    .judge = judge,
    .account = account,
};
