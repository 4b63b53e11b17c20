#include "run/agent.h"

#include "base/mem.h"
#include "core/plan_words.h"
#include "run/agent_tail.h"
#include "run/dialect.h"
#include "sys/spawn.h"

#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- how they are called ------------------------------------------------------------------ */

static int build_sim(const struct task *task, const struct agent_context *ctx,
                     struct agent_call *call, struct err *err)
{
    (void)task;
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : ctx->self, "__sim", NULL);
    return 0;
}

/* "{prompt_file}" in a word stands for the file's path. */
static void push_template(struct strv *argv, const char *word, const char *prompt_file)
{
    static const char place[] = "{prompt_file}";
    autobuf struct buf out = BUF_INIT;
    for (const char *at; (at = strstr(word, place)); word = at + strlen(place)) {
        buf_add(&out, word, (size_t)(at - word));
        buf_addstr(&out, prompt_file);
    }
    buf_addstr(&out, word);
    strv_push(argv, out.s);
}

static int build_command(const struct task *task, const struct agent_context *ctx,
                         struct agent_call *call, struct err *err)
{
    (void)err;
    if (task->command.shell)
        strv_pushl(&call->argv, "/bin/sh", "-c", task->command.shell, NULL);
    for (size_t i = 0; i < task->command.argv.n; i++)
        push_template(&call->argv, task->command.argv.v[i], ctx->prompt_file);
    return 0;
}

static void claude_permissions(const struct task *task, struct agent_call *call)
{
    if (task->read_only || task->permissions == PERMISSIONS_READ) {
        strv_pushl(&call->argv, "--permission-mode", "plan", NULL);
    } else if (task->permissions == PERMISSIONS_FULL) {
        strv_push(&call->argv, "--dangerously-skip-permissions");
        if (geteuid() ==
            0) /* it refuses to skip them as root unless told that it is in a sandbox */
            strv_push(&call->env, "IS_SANDBOX=1");
    } else {
        strv_pushl(&call->argv, "--permission-mode", "acceptEdits", "--allowedTools", "Bash(git *)",
                   "Bash(make *)", NULL);
    }
}

static int build_claude(const struct task *task, const struct agent_context *ctx,
                        struct agent_call *call, struct err *err)
{
    (void)err;
    strv_pushl(&call->argv, ctx->exe ? ctx->exe : "claude", "-p", "--output-format", "stream-json",
               "--verbose", NULL);
    if (task->agent)
        strv_pushl(&call->argv, "--agent", task->agent, NULL);
    if (task->model)
        strv_pushl(&call->argv, "--model", task->model, NULL);
    if (ctx->session)
        strv_pushl(&call->argv, "--resume", ctx->session, NULL);
    claude_permissions(task, call);
    return 0;
}

static const struct agent {
    int (*build)(const struct task *, const struct agent_context *, struct agent_call *,
                 struct err *);
    const struct dialect *dialect;
    const char *program; /* that must be there; NULL: none */
    int stop_signal;
    bool continues; /* can take up a session again */
} agents[] = {
    [ENGINE_SIM] = {build_sim, &dialect_sim, NULL, SIGTERM, false},
    [ENGINE_COMMAND] = {build_command, NULL, NULL, SIGTERM, false},
    [ENGINE_CLAUDE] = {build_claude, &dialect_claude, "claude", SIGINT, true},
};

static const struct agent *find_agent(enum engine engine)
{
    return engine < sizeof(agents) / sizeof(agents[0]) && agents[engine].build ? &agents[engine]
                                                                               : NULL;
}

void agent_call_done(struct agent_call *call)
{
    strv_done(&call->argv);
    strv_done(&call->env);
    free(call->dir);
}

int agent_build(enum engine engine, const struct task *task, const struct agent_context *ctx,
                struct agent_call *call, struct err *err)
{
    const struct agent *agent = find_agent(engine);
    if (!agent)
        return err_set(err, ERR_INPUT, "engine '%s' cannot be run yet", engine_words[engine]);
    call->stop_signal = agent->stop_signal;
    call->dir = mem_str(ctx->dir);
    return agent->build(task, ctx, call, err);
}

int agent_check(enum engine engine, const struct task *task, const char *exe, struct err *err)
{
    const struct agent *agent = find_agent(engine);
    if (!agent)
        return err_set(err, ERR_INPUT, "engine '%s' cannot be run yet", engine_words[engine]);
    const char *program =
        engine == ENGINE_COMMAND && task->command.argv.n ? task->command.argv.v[0] : agent->program;
    if (exe && agent->program)
        program = exe;
    if (!program || spawn_finds(program))
        return 0;
    return err_set(err, ERR_ENV, "'%s' was not found: install it, or name it with --engine-exe",
                   program);
}

/* --- what they say ------------------------------------------------------------------------ */

void agent_report_done(struct agent_report *report)
{
    buf_done(&report->said);
    buf_done(&report->session);
    buf_done(&report->action);
    buf_done(&report->text);
    buf_done(&report->reason);
}

const struct dialect *agent_dialect(enum engine engine)
{
    const struct agent *agent = find_agent(engine);
    return agent ? agent->dialect : NULL;
}

bool agent_find_session(enum engine engine, const char *path, struct buf *out)
{
    const struct agent *agent = find_agent(engine);
    struct agent_report report = AGENT_REPORT_INIT;
    struct agent_tail tail;
    if (!agent || !agent->continues)
        return false;
    agent_tail_open(&tail, path, agent->dialect, &report);
    while (!report.session.len && agent_tail_more(&tail))
        ;
    buf_add(out, report.session.s, report.session.len);
    agent_tail_close(&tail);
    agent_report_done(&report);
    return out->len > 0;
}

/* --- why they failed ---------------------------------------------------------------------- */

/* Searches words that may be separated by one blank, '_' or '-', or by nothing; ignoring case. */
static bool mentions(const char *text, const char *words)
{
    for (; *text; text++) {
        const char *t = text, *w = words;
        for (; *w; w++) {
            if (*w == ' ') {
                t += *t && strchr(" \t\r\n_-", *t) ? 1 : 0;
            } else if (strncasecmp(t, w, 1) != 0) {
                break;
            } else {
                t++;
            }
        }
        if (!*w)
            return true;
    }
    return false;
}

static bool mentions_any(const char *text, const char *const *phrases)
{
    for (; *phrases; phrases++) {
        if (mentions(text, *phrases))
            return true;
    }
    return false;
}

static enum failure classify_words(const char *text)
{
    static const char *const auth[] = {"permission denied",
                                       "authentication failed",
                                       "authentication error",
                                       "invalid api key",
                                       "credit balance too low",
                                       "credit balance exceeded",
                                       NULL};
    static const char *const limit[] = {"rate limit", "quota exceeded", "quota exhausted", NULL};
    static const char *const overloaded[] = {"overloaded", NULL};
    if (mentions_any(text, auth))
        return FAILURE_AUTH;
    if (mentions_any(text, limit))
        return FAILURE_LIMIT;
    return mentions_any(text, overloaded) ? FAILURE_OVERLOADED : FAILURE_TRANSIENT;
}

/* The last line of a text that is not blank. */
static void add_last_line(struct buf *out, const char *text)
{
    size_t end = strlen(text);
    while (end && strchr(" \t\r\n", text[end - 1]))
        end--;
    size_t start = end;
    while (start && text[start - 1] != '\n')
        start--;
    buf_add(out, text + start, end - start);
}

bool agent_failed(enum engine engine, const struct agent_report *report, int exit_code, int signal,
                  const char *err_text, enum failure *ret_failure, struct buf *ret_reason)
{
    enum { USAGE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
    const struct agent *agent = find_agent(engine);
    bool speaks = agent && agent->dialect;
    if (exit_code == 0 && !report->failed && (!speaks || (report->finished && report->ok)))
        return false;
    if (report->failed) {
        *ret_failure = report->failure;
        buf_add(ret_reason, report->reason.s, report->reason.len);
        return true;
    }
    if (signal) {
        *ret_failure = FAILURE_TRANSIENT;
        buf_addf(ret_reason, "ended by signal %d", signal);
    } else if (exit_code == 0) {
        *ret_failure = FAILURE_TRANSIENT;
        buf_addstr(ret_reason, "ended without a result");
    } else if (exit_code == USAGE || exit_code == NOT_EXECUTABLE || exit_code == NOT_FOUND) {
        *ret_failure = FAILURE_SETUP;
        buf_addf(ret_reason, "exit code %d%s", exit_code, *err_text ? ": " : "");
        add_last_line(ret_reason, err_text);
    } else {
        *ret_failure = classify_words(err_text);
        if (*ret_failure == FAILURE_TRANSIENT)
            *ret_failure = classify_words(report->text.s);
        buf_addf(ret_reason, "exit code %d", exit_code);
        buf_addstr(ret_reason, *err_text ? ": " : "");
        add_last_line(ret_reason, err_text);
    }
    return true;
}
