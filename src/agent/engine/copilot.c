#include "agent/engine/engine.h"
#include "agent/engine/env.h"
#include "agent/engine/npm_launcher.h"
#include "base/mem.h"

#include <signal.h>

/* npm's script does not pass signals on to the program. */
static char *find_program(const char *command)
{
    const struct launcher_machine *m = launcher_machine();
    if (!m)
        return mem_str(command);
    autofree char *native = mem_printf("@github/copilot-%s-%s/copilot", m->os, m->cpu);
    char *found = launcher_native(command, "@github/copilot/npm-loader.js", native);
    return found ? found : mem_str(command);
}

/* copilot asks for anything that is not allowed, and that fails at once because nobody answers;
 * reading is always allowed. Each option takes all words that follow, so we write each value after
 * a '='. */
static void add_permissions(const struct task *task, struct agent_call *call)
{
    if (engine_only_reads(task))
        strv_push(&call->argv, "--deny-tool=write");
    else if (task->permissions == PERMISSIONS_FULL)
        strv_push(&call->argv, "--allow-all");
    else
        strv_pushl(&call->argv, "--allow-tool=write", "--allow-tool=shell(git:*)",
                   "--allow-tool=shell(make:*)", NULL);
}

/* Its events do not report its usage, but its spans do; see dialect_copilot_hear(). We write them
 * to standard error only, and send them nowhere. If the user has configured an exporter, we leave
 * that alone. */
static void add_spans(struct agent_call *call)
{
    static const char *const own[] = {"COPILOT_OTEL_FILE_EXPORTER_PATH", "COPILOT_OTEL_ENABLED",
                                      "COPILOT_OTEL_EXPORTER_TYPE", "OTEL_EXPORTER_OTLP_ENDPOINT",
                                      "OTEL_SDK_DISABLED"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (env_has(&call->env, own[i]))
            return;
    }
    env_set(&call->env, own[0], "/dev/stderr");
}

/* Without -p copilot reads the prompt from its input if that is not a terminal. */
static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    autofree char *program = find_program(ctx->exe ? ctx->exe : "copilot");
    (void)err;
    strv_pushl(&call->argv, program, "--output-format", "json", "--no-auto-update", "--no-ask-user",
               NULL);
    engine_option_push(&call->argv, "--agent", task->agent);
    engine_option_push(&call->argv, "--model", task->model);
    engine_option_push(&call->argv, "--reasoning-effort", engine_effort(task));
    engine_args_push(task, &call->argv);
    if (ctx->session)
        strv_pushf(&call->argv, "--resume=%s", ctx->session);
    add_permissions(task, call);
    add_spans(call);
    return 0;
}

static const struct denied_option denied[] = {
    {"--output-format --stream -s --silent -r --resume --continue --session-id "
     "--connect --acp --remote --environment-host --environment-compute-id "
     "--mode --plan -C -h --help -v --version",
     NULL},
    {"-p --prompt -i --interactive", "prompt"},
    {"--allow-all --yolo --allow-all-tools --allow-all-paths "
     "--assisted-approval --autopilot",
     "permissions"},
    {"--allow-tool --add-dir", "permissions", .reading = true},
    {"--agent", "agent"},
    {"--model", "model"},
    {"--effort --reasoning-effort", "effort"},
    {0},
};

static const char *const account[] = {
    "COPILOT_GITHUB_TOKEN",     "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_PROVIDER_API_KEY", NULL};

static const char *const keys[] = {"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "GH_TOKEN",
                                   "GITHUB_TOKEN", NULL};

static const char *const log_marks[] = {"{\"type\":\"span\",", "{\"type\":\"metric\",", NULL};

/* On SIGTERM it ends its tools and reports the end; on SIGINT it fails while it ends. */
const struct engine_def engine_copilot = {
    .program = "copilot",
    .build = build_call,
    .dialect = &dialect_copilot,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_MS,
    .resumes = true,
    .takes_effort = true,
    .read_stderr = dialect_copilot_hear,
    .log_marks = log_marks,
    .denied = denied,
    .account = account,
    .keys = keys,
};
