#include "agent/engine/engine.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <signal.h>

/* Without a terminal gemini removes all tools that would need approval: "default" keeps those that
 * read, "auto_edit" also those that write files, "yolo" also commands. */
const char *engine_gemini_approval(const struct task *task, const char *edit)
{
    if (engine_only_reads(task))
        return "default";
    return task->permissions == PERMISSIONS_FULL ? "yolo" : edit;
}

static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "gemini", "-o", "stream-json", "--approval-mode",
               engine_gemini_approval(task, "auto_edit"), "--skip-trust", NULL);
    engine_option_push(&call->argv, "-m", task->model);
    engine_args_push(task, &call->argv);
    engine_option_push(&call->argv, "--resume", ctx->session);
    /* Otherwise it restarts itself in a child process, and the process that we know ignores
     * signals. */
    env_set(&call->env, "GEMINI_CLI_NO_RELAUNCH", "true");
    return 0;
}

bool engine_gemini_fatal(int exit_code, enum failure *ret_failure)
{
    static const struct {
        int code;
        enum failure failure;
    } known[] = {
        {41, FAILURE_AUTH},    /* no way to log in */
        {42, FAILURE_SETUP},   /* no prompt, or no such session */
        {44, FAILURE_SETUP},   /* its sandbox */
        {52, FAILURE_SETUP},   /* its settings */
        {53, FAILURE_TIMEOUT}, /* no turns left */
        {55, FAILURE_SETUP},   /* a folder that it does not trust */
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].code == exit_code) {
            *ret_failure = known[i].failure;
            return true;
        }
    }
    return false;
}

/* Its exit code is the HTTP status of the model's answer, modulo 256. */
static bool judge_exit(int exit_code, const char *err_text, enum failure *ret_failure,
                       struct buf *ret_reason)
{
    static const int statuses[] = {400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504};
    (void)err_text;
    (void)ret_reason;
    if (engine_gemini_fatal(exit_code, ret_failure))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        if (statuses[i] % 256 == exit_code) {
            *ret_failure = cause_of_status(statuses[i]);
            return true;
        }
    }
    return false;
}

/* Its own sandbox is a container, in which our guard could not reach it. */
const struct denied_option engine_gemini_denied[] = {
    {"-o --output-format -r --resume --session-id --acp --experimental-acp -s "
     "--sandbox -l --list-extensions --screen-reader -h --help -v --version",
     NULL},
    {"-p --prompt -i --prompt-interactive", "prompt"},
    {"-y --yolo --approval-mode", "permissions"},
    {"--allowed-tools --include-directories", "permissions", .reading = true},
    {"-m --model", "model"},
    {0},
};

static const struct denied_option denied[] = {
    {"-w --worktree --session-file --list-sessions --delete-session "
     "--raw-output",
     NULL},
    {"--policy --admin-policy", "permissions", .reading = true},
    {0},
};

static const char *const account[] = {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT",
                                      NULL};

static const char *const keys[] = {"GEMINI_API_KEY", "GOOGLE_API_KEY", NULL};

const struct engine_def engine_gemini = {
    .program = "gemini",
    .build = build_call,
    .dialect = &dialect_gemini,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_MS,
    .resumes = true,
    .denied = denied,
    .shared_denied = engine_gemini_denied,
    .no_persona = true,
    .judge_exit = judge_exit,
    .account = account,
    .keys = keys,
};
