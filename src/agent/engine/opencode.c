#include "agent/engine/engine.h"

#include "agent/engine/env.h"

#include <signal.h>
#include <string.h>

/* A tool that is denied as a whole is not offered to the model. A path outside its folder it would
 * ask for, reject itself, and end without a word, with exit code 0: one that is denied it is told
 * of, and continues. */
static void add_permissions(const struct task *task, struct agent_call *call)
{
    static const char reads[] = "{\"external_directory\":\"deny\",\"edit\":\"deny\","
                                "\"bash\":\"deny\"}";
    static const char edits[] = "{\"external_directory\":\"deny\",\"bash\":{\"*\":\"deny\","
                                "\"git *\":\"allow\",\"make *\":\"allow\"}}";
    bool looks = task->read_only || task->permissions == PERMISSIONS_READ;
    if (looks || task->permissions != PERMISSIONS_FULL)
        env_set(&call->env, "OPENCODE_PERMISSION", "%s", looks ? reads : edits);
    else
        strv_push(&call->argv, "--auto");
}

static int build(const struct task *task, const struct agent_context *ctx, struct agent_call *call,
                 struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "opencode", "run", "--format", "json",
               "--print-logs", "--log-level", "INFO", NULL); /* see dialect_opencode_hear() */
    if (task->agent)
        strv_pushl(&call->argv, "--agent", task->agent, NULL);
    if (task->model)
        strv_pushl(&call->argv, "-m", task->model, NULL);
    engine_args_push(task, &call->argv);
    if (ctx->session)
        strv_pushl(&call->argv, "-s", ctx->session, NULL);
    add_permissions(task, call);
    return 0;
}

/* An agent that it does not know, it only warns of, and works as another. */
static bool judge(int exit_code, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason)
{
    (void)exit_code;
    const char *said = strstr(err_text, "Falling back to default agent");
    if (!said)
        return false;
    *ret_failure = FAILURE_SETUP;
    buf_addstr(ret_reason, "it did not work as the agent that the plan names: opencode has no such "
                           "one, or only as a helper");
    return true;
}

static const struct denied_option denied[] = {
    {"--format", NULL},
    {"--command", NULL},
    {"-c", NULL},
    {"--continue", NULL},
    {"-s", NULL},
    {"--session", NULL},
    {"--fork", NULL},
    {"--attach", NULL},
    {"-p", NULL},
    {"--password", NULL},
    {"-u", NULL},
    {"--username", NULL},
    {"--dir", NULL},
    {"--port", NULL},
    {"-i", NULL},
    {"--interactive", NULL},
    {"--print-logs", NULL},
    {"--log-level", NULL},
    {"-h", NULL},
    {"--help", NULL},
    {"-v", NULL},
    {"--version", NULL},
    {"--auto", "permissions"},
    {"--dangerously-skip-permissions", "permissions"},
    {"--agent", "agent"},
    {"-m", "model"},
    {"--model", "model"},
    {0},
};

static const char *const account[] = {"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "ANTHROPIC_API_KEY",
                                      "OPENAI_API_KEY", NULL};

static const char *const keys[] = {"OPENCODE_API_KEY",   "OPENCODE_SERVER_PASSWORD",
                                   "ANTHROPIC_API_KEY",  "OPENAI_API_KEY",
                                   "OPENROUTER_API_KEY", NULL};

static const char *const chatter[] = {" level=INFO ", " level=WARN ", " level=ERROR ", NULL};

const struct engine_def engine_opencode = {
    .program = "opencode",
    .build = build,
    .dialect = &dialect_opencode,
    .interrupt_signal = SIGTERM,
    .idle = ENGINE_IDLE_TOOLS_MS,
    .continues = true,
    .denied = denied,
    .litter = "-00000000.so", /* a library of some megabytes, that it unpacks each time */
    .judge = judge,
    .ends_early = true,
    .hear = dialect_opencode_hear,
    .chatter = chatter,
    .account = account,
    .keys = keys,
};
