#include "agent/engine/engine.h"
#include "agent/engine/env.h"
#include "agent/engine/npm_launcher.h"
#include "base/mem.h"
#include "plan/words.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

static char *find_program(const char *command)
{
    const struct launcher_machine *m = launcher_machine();
    if (!m)
        return mem_str(command);
    autofree char *native =
        mem_printf("@openai/codex-%s-%s/vendor/%s/bin/codex", m->os, m->cpu, m->triple);
    char *found = launcher_native(command, "@openai/codex/bin/codex.js", native);
    return found ? found : mem_str(command);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* In its sandbox codex can write only to the folder in which it works, so git could not commit in
 * a linked worktree. We also permit the folders of the repository to which a commit writes.
 * Permitting their parent is not enough: codex protects the worktree's administrative folder
 * unless we name it. */
static void add_repository(const struct agent_context *ctx, struct agent_call *call)
{
    static const char *const written[] = {"objects", "refs", "logs", "reftable"};
    strv_pushl(&call->argv, "--add-dir", ctx->admin, NULL);
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        autofree char *path = mem_printf("%s/%s", ctx->common, written[i]);
        if (is_folder(path))
            strv_pushl(&call->argv, "--add-dir", path, NULL);
    }
}

static void add_permissions(const struct task *task, const struct agent_context *ctx,
                            struct agent_call *call)
{
    if (engine_only_reads(task)) {
        strv_pushl(&call->argv, "-s", "read-only", NULL);
    } else if (task->permissions == PERMISSIONS_FULL) {
        strv_pushl(&call->argv, "-s", "danger-full-access", NULL);
    } else {
        strv_pushl(&call->argv, "-s", "workspace-write", NULL);
        if (ctx->admin)
            add_repository(ctx, call);
    }
}

/* Without its home folder codex ends at once, which would look like a passing failure. If the
 * folder were inside TMPDIR, no command would work and codex would report nothing; our TMPDIR,
 * made for one attempt, never contains it. */
static int check_home(const struct agent_call *call, struct err *err)
{
    static const char name[] = "CODEX_HOME=";
    for (size_t i = 0; i < call->env.n; i++) {
        const char *home = call->env.v[i] + strlen(name);
        if (strncmp(call->env.v[i], name, strlen(name)) == 0 && *home && !is_folder(home))
            return err_set(err, ERR_ENV, "CODEX_HOME is '%s', which is not a folder", home);
    }
    return 0;
}

/* Options of the whole command go before `resume`, which does not accept all of them. */
static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    autofree char *program = find_program(ctx->exe ? ctx->exe : "codex");
    if (check_home(call, err))
        return -1;
    if (!env_has(&call->env, "RUST_LOG")) /* see dialect_codex_hear() */
        env_set(&call->env, "RUST_LOG",
                "error,codex_core::responses_retry=warn,codex_otel.trace_safe=info");
    strv_pushl(&call->argv, program, "exec", "--json", NULL);
    engine_option_push(&call->argv, "-m", task->model);
    if (task->effort) {
        strv_push(&call->argv, "-c");
        strv_pushf(&call->argv, "model_reasoning_effort=\"%s\"", effort_words[task->effort]);
    }
    engine_args_push(task, &call->argv);
    add_permissions(task, ctx, call);
    if (!ctx->common) /* it may be outside of any repository, where codex refuses to work */
        strv_push(&call->argv, "--skip-git-repo-check");
    engine_option_push(&call->argv, "resume", ctx->session);
    strv_push(&call->argv, "-"); /* the prompt is its input */
    return 0;
}

static const char *const account[] = {"CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", NULL};

static const char *const keys[] = {"CODEX_API_KEY", "OPENAI_API_KEY", NULL};

/* With `permissions: edit` a plan may open the sandbox's network or another folder. */
static const struct denied_option denied[] = {
    {"--json --experimental-json --color --ephemeral --thread-source -C --cd "
     "--worktree --skip-git-repo-check -h --help -V --version",
     NULL},
    {"-s --sandbox -a --ask-for-approval --approve-for-me --full-auto --yolo "
     "--dangerously-bypass-approvals-and-sandbox "
     "--dangerously-bypass-hook-trust",
     "permissions"},
    {"--add-dir -p --profile", "permissions", .reading = true},
    {"-c --config", "permissions", "sandbox_mode"},
    {"-c --config", "permissions", "approval_policy"},
    {"-c --config", "permissions", "default_permissions"},
    {"-c --config", "model", "model"},
    {"-c --config", "effort", "model_reasoning_effort"},
    {"-m --model", "model"},
    {0},
};

static const char *const log_marks[] = {"WARN codex_core::responses_retry",
                                        "INFO codex_otel.trace_safe", NULL};

/* Its tools run in sessions of their own and end with it, however it ends. */
const struct engine_def engine_codex = {
    .program = "codex",
    .build = build_call,
    .dialect = &dialect_codex,
    .interrupt_signal = SIGTERM,
    .idle_ms = ENGINE_IDLE_MS,
    .usage_is_cumulative = true,
    .resumes = true,
    .takes_effort = true,
    .read_stderr = dialect_codex_hear,
    .log_marks = log_marks,
    .denied = denied,
    .no_persona = true,
    .account = account,
    .keys = keys,
};
