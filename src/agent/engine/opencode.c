#include "agent/engine/engine.h"

#include "agent/engine/env.h"

#include <signal.h>
#include <string.h>

/* The model never sees a tool that is denied as a whole. For a path outside its folder opencode
 * would ask, reject the request itself, and stop without a message and with exit code 0. If such
 * paths are denied it tells the model, and continues. */
static void add_permissions(const struct task *task, struct agent_call *call)
{
    static const char reads[] = "{\"external_directory\":\"deny\",\"edit\":\"deny\","
                                "\"bash\":\"deny\"}";
    static const char edits[] = "{\"external_directory\":\"deny\",\"bash\":{\"*\":\"deny\","
                                "\"git *\":\"allow\",\"make *\":\"allow\"}}";
    bool only_reads = engine_only_reads(task);
    if (only_reads || task->permissions != PERMISSIONS_FULL)
        env_set(&call->env, "OPENCODE_PERMISSION", "%s", only_reads ? reads : edits);
    else
        strv_push(&call->argv, "--auto");
}

static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "opencode", "run", "--format", "json",
               "--print-logs", "--log-level", "INFO", NULL); /* see dialect_opencode_hear() */
    engine_option_push(&call->argv, "--agent", task->agent);
    engine_option_push(&call->argv, "-m", task->model);
    engine_args_push(task, &call->argv);
    engine_option_push(&call->argv, "-s", ctx->session);
    add_permissions(task, call);
    return 0;
}

/* If opencode does not know the agent it only prints a warning and uses another one. */
static bool judge_exit(int exit_code, const char *err_text, enum failure *ret_failure,
                       struct buf *ret_reason)
{
    (void)exit_code;
    if (!strstr(err_text, "Falling back to default agent"))
        return false;
    *ret_failure = FAILURE_SETUP;
    buf_addstr(ret_reason,
               "opencode did not use the agent that the plan names: it has none of that "
               "name, or only as a subagent");
    return true;
}

static const struct denied_option denied[] = {
    {"--format --command -c --continue -s --session --fork --attach -p "
     "--password -u --username --dir --port -i --interactive --print-logs "
     "--log-level -h --help -v --version",
     NULL},
    {"--auto --dangerously-skip-permissions", "permissions"},
    {"--agent", "agent"},
    {"-m --model", "model"},
    {0},
};

static const char *const account[] = {"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "ANTHROPIC_API_KEY",
                                      "OPENAI_API_KEY", NULL};

static const char *const keys[] = {"OPENCODE_API_KEY",   "OPENCODE_SERVER_PASSWORD",
                                   "ANTHROPIC_API_KEY",  "OPENAI_API_KEY",
                                   "OPENROUTER_API_KEY", NULL};

static const char *const log_marks[] = {" level=INFO ", " level=WARN ", " level=ERROR ", NULL};

const struct engine_def engine_opencode = {
    .program = "opencode",
    .build = build_call,
    .dialect = &dialect_opencode,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_TOOLS_MS,
    .resumes = true,
    .denied = denied,
    .temp_suffix = "-00000000.so", /* a library of some megabytes that it unpacks each time */
    .judge_exit = judge_exit,
    .ends_early = true,
    .read_stderr = dialect_opencode_hear,
    .log_marks = log_marks,
    .account = account,
    .keys = keys,
};
