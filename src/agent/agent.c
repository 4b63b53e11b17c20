#include "agent/agent.h"

#include "agent/engine/engine.h"
#include "agent/output_tail.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "plan/cause.h"
#include "plan/words.h"
#include "sys/fs/dirs.h"
#include "sys/proc/spawn.h"

#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct engine_def *const engines[] = {
    [ENGINE_SIM] = &engine_sim,           [ENGINE_COMMAND] = &engine_command,
    [ENGINE_CLAUDE] = &engine_claude,     [ENGINE_CODEX] = &engine_codex,
    [ENGINE_COPILOT] = &engine_copilot,   [ENGINE_AIDER] = &engine_aider,
    [ENGINE_GEMINI] = &engine_gemini,     [ENGINE_QWEN] = &engine_qwen,
    [ENGINE_OPENCODE] = &engine_opencode,
};

/* An engine that we do not support yet has no abilities. */
static const struct engine_def *find_engine(enum agent_engine engine)
{
    static const struct engine_def unsupported;
    const struct engine_def *found = engine < ARRAY_LEN(engines) ? engines[engine] : NULL;
    return found ? found : &unsupported;
}

/* The engine that the plan gives to a task; another one may run it. */
static enum agent_engine get_planned_engine(const struct task *t)
{
    return t->engine ? t->engine : ENGINE_CLAUDE;
}

void agent_call_done(struct agent_call *call)
{
    strv_done(&call->argv);
    strv_done(&call->env);
    free(call->dir);
}

int agent_build(enum agent_engine engine, const struct task *task, const struct agent_context *ctx,
                struct agent_call *call, struct err *err)
{
    const struct engine_def *def = find_engine(engine);
    if (!def->build)
        return err_set(err, ERR_INPUT, "engine '%s' is not supported yet", engine_words[engine]);
    call->interrupt_signal = def->interrupt_signal;
    call->dir = mem_str(ctx->dir);
    return def->build(task, ctx, call, err);
}

int agent_check(enum agent_engine engine, const struct task *task, const char *exe, struct err *err)
{
    const struct engine_def *def = find_engine(engine);
    if (!def->build)
        return err_set(err, ERR_INPUT, "engine '%s' is not supported yet", engine_words[engine]);
    const char *program =
        engine == ENGINE_COMMAND && task->command.argv.n ? task->command.argv.v[0] : def->program;
    if (exe && def->program)
        program = exe;
    if (task->agent && def->no_persona)
        return err_set(err, ERR_INPUT, "'%s' has no personas: leave out 'agent: %s'",
                       engine_words[engine], task->agent);
    if (!program || spawn_finds(program))
        return 0;
    return err_set(err, ERR_ENV, "cannot find '%s': install it, or name it with --engine-exe",
                   program);
}

/* The user may run a plan with another engine than it was written for. */
static int check_other(enum agent_engine engine, const struct engine_def *def,
                       const struct task *task, struct err *err)
{
    const char *own = engine_words[get_planned_engine(task)];
    if (engine == get_planned_engine(task) || engine == ENGINE_SIM)
        return 0;
    if (task->engine_args.n)
        return err_set(err, ERR_INPUT, "its 'engine_args' are for '%s', not for '%s'", own,
                       engine_words[engine]);
    if (task->max_turns != PLAN_UNSET && !def->takes_turns)
        return err_set(err, ERR_INPUT, "its 'max_turns' is for '%s': '%s' does not support it", own,
                       engine_words[engine]);
    return 0;
}

int agent_check_instead(enum agent_engine engine, const struct task *task, struct err *err)
{
    const struct engine_def *def = find_engine(engine);
    return def->build ? check_other(engine, def, task, err) : 0;
}

/* An unsupported option is an error if the task itself sets it. If the task has it from the
 * defaults, we ignore it. */
static void check_supported(const struct task *t, const char *key, bool supported,
                            struct problems *ps)
{
    const struct node *own = node_get(t->node, key);
    const char *engine = engine_words[get_planned_engine(t)];
    if (supported)
        return;
    if (!own) {
        problem_warn(ps, RULE_COMBINATION, t->node, "'%s' does not support '%s': it is ignored",
                     engine, key);
        return;
    }
    problem_error_key(ps, RULE_COMBINATION, own, "'%s' does not support '%s'", engine, key);
    problem_hint(ps, "leave it out, or name another engine");
}

static void check_fallback(const struct task *t, const struct engine_def *def, struct problems *ps)
{
    enum agent_engine engine = t->fallback.engine;
    const struct node *node = node_get(t->node, "fallback");
    if (t->max_turns != PLAN_UNSET && !def->takes_turns)
        problem_warn(ps, RULE_COMBINATION, node ? node : t->node,
                     "'%s' does not support 'max_turns': as a fallback it runs without it",
                     engine_words[engine]);
}

void agent_check_options(const struct task *task, struct problems *ps)
{
    const struct engine_def *def = find_engine(get_planned_engine(task));
    struct engine_args_rules rules = {
        .engine = engine_words[get_planned_engine(task)],
        .denied = def->denied,
        .shared_denied = def->shared_denied,
        .abbreviates = def->abbreviates,
    };
    if (task->effort)
        check_supported(task, "effort", def->takes_effort, ps);
    if (task->max_turns != PLAN_UNSET)
        check_supported(task, "max_turns", def->takes_turns, ps);
    engine_args_check(task, &rules, ps);
    if (task->fallback.engine)
        check_fallback(task, find_engine(task->fallback.engine), ps);
}

void agent_leave_out(enum agent_engine engine, struct task *task)
{
    const struct engine_def *def = find_engine(engine);
    if (engine != get_planned_engine(task) || !def->denied)
        task->engine_args = (struct strings){0};
    if (!def->takes_effort)
        task->effort = EFFORT_UNSET;
    if (!def->takes_turns)
        task->max_turns = PLAN_UNSET;
}

struct agent_facts agent_facts(enum agent_engine engine)
{
    const struct engine_def *def = find_engine(engine);
    return (struct agent_facts){def->program, def->dialect != NULL, def->resumes};
}

bool agent_has_personas(enum agent_engine engine)
{
    return !find_engine(engine)->no_persona;
}

bool agent_is_untested(enum agent_engine engine)
{
    return find_engine(engine)->untested;
}

/* The agent may have put folders of the user's there, which stay. */
static int remove_temp_file(void *ctx, const char *dir, const char *name, struct err *err)
{
    const char *suffix = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    (void)err;
    if (str_ends(name, suffix))
        (void)dirs_remove_file(path, NULL); /* a failure does no harm: it only uses disk space */
    return 0;
}

void agent_tidy(enum agent_engine engine, const char *tmp)
{
    const struct engine_def *def = find_engine(engine);
    if (def->temp_suffix)
        (void)dirs_each(tmp, remove_temp_file, (void *)def->temp_suffix, NULL);
}

void agent_report_done(struct agent_report *report)
{
    struct buf *const texts[] = {&report->said,        &report->session, &report->model,
                                 &report->action,      &report->text,    &report->denied,
                                 &report->reason,      &report->partial, &report->question,
                                 &report->helper_names};
    tool_calls_done(&report->tools);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_done(texts[i]);
}

const struct dialect *agent_dialect(enum agent_engine engine)
{
    return find_engine(engine)->dialect;
}

bool agent_continues_limited(enum agent_engine engine)
{
    const struct engine_def *def = find_engine(engine);
    return def->resumes || def->resumes_limited;
}

bool agent_continues_ended(enum agent_engine engine)
{
    const struct engine_def *def = find_engine(engine);
    return def->resumes || def->resumes_ended;
}

const char *const *agent_account(enum agent_engine engine)
{
    return find_engine(engine)->account;
}

const char *const *agent_keys(enum agent_engine engine)
{
    return find_engine(engine)->keys;
}

bool agent_find_session(enum agent_engine engine, const char *path, struct buf *out)
{
    return find_engine(engine)->resumes && agent_read_session(engine, path, out);
}

bool agent_read_session(enum agent_engine engine, const char *path, struct buf *out)
{
    struct agent_report report = AGENT_REPORT_INIT;
    struct output_tail tail;
    output_tail_open(&tail, path, agent_dialect(engine), &report);
    while (!report.session.len && output_tail_more(&tail))
        ;
    buf_add(out, report.session.s, report.session.len);
    output_tail_close(&tail);
    agent_report_done(&report);
    return out->len > 0;
}

bool agent_is_heard(enum agent_engine engine)
{
    return find_engine(engine)->read_stderr;
}

void agent_hear(enum agent_engine engine, struct agent_report *report, const char *line)
{
    if (agent_is_heard(engine))
        find_engine(engine)->read_stderr(report, line);
}

static bool is_log_line(const char *const *words, const char *line, size_t len)
{
    for (; *words; words++) {
        if (memmem(line, len, *words, strlen(*words)))
            return true;
    }
    return false;
}

void agent_drop_chatter(enum agent_engine engine, struct buf *text)
{
    const struct engine_def *def = find_engine(engine);
    size_t to = 0;
    if (!def->log_marks)
        return;
    for (size_t at = 0, len; at < text->len; at += len) {
        const char *lf = memchr(text->s + at, '\n', text->len - at);
        len = lf ? (size_t)(lf - text->s) + 1 - at : text->len - at;
        if (is_log_line(def->log_marks, text->s + at, len))
            continue;
        memmove(text->s + to, text->s + at, len);
        to += len;
    }
    buf_cut(text, to);
}

int64_t agent_idle(enum agent_engine engine)
{
    return find_engine(engine)->idle_ms;
}

/* An agent that ended normally reported the usage of the whole session; another one reported only
 * its own usage, if any. */
bool agent_add_use(enum agent_engine engine, const char *path, const char *errors,
                   const char *session, struct agent_use *use)
{
    const struct engine_def *def = find_engine(engine);
    struct agent_report r = AGENT_REPORT_INIT;
    struct output_tail tail;
    struct agent_errors log;
    if (!def->usage_is_cumulative)
        return false;
    agent_errors_open(&log, errors, engine, &r);
    agent_errors_end(&log);
    agent_errors_close(&log);
    output_tail_open(&tail, path, def->dialect, &r);
    output_tail_end(&tail);
    bool same = strcmp(r.session.s, session) == 0,
         complete = r.finished && (r.tokens_in || r.tokens_out);
    if (same) {
        use->in += r.tokens_in;
        use->out += r.tokens_out;
        use->cache_read += r.cache_read;
        use->cache_made += r.cache_made;
    }
    agent_report_done(&r);
    return same && !complete;
}

static bool mentions_any(const char *text, const char *const *phrases)
{
    for (; *phrases; phrases++) {
        if (cause_mentions(text, *phrases))
            return true;
    }
    return false;
}

static enum failure classify_words(const char *text)
{
    static const char *const auth[] = {"permission denied", "authentication failed",
                                       "authentication error", "invalid api key", NULL};
    enum failure failure;
    if (mentions_any(text, auth))
        return FAILURE_AUTH;
    if (cause_of_words(text, &failure))
        return failure;
    return cause_mentions(text, "overloaded") ? FAILURE_OVERLOADED : FAILURE_TRANSIENT;
}

/* Appends the most informative line of a text: the last that begins as an error, else the last
 * that is not blank. A stack trace may follow the error line. */
static void add_error_line(struct buf *out, const char *text)
{
    static const char error[] = "error:";
    const char *best = "";
    size_t len = 0;
    bool certain = false;
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        bool is_error = strncasecmp(text, error, strlen(error)) == 0;
        if (strspn(text, " \t\r") >= n || (certain && !is_error))
            continue;
        best = text;
        len = n;
        certain = is_error;
    }
    while (len && strchr(" \t\r", best[len - 1]))
        len--;
    buf_add(out, best, len);
}

static void add_exit(struct buf *out, int exit_code, const char *err_text)
{
    buf_addf(out, "exit code %d%s", exit_code, *err_text ? ": " : "");
    add_error_line(out, err_text);
}

/* Lets the engine classify its end. The reason is the agent's last text if that reports an error.
 */
static bool judge_by_engine(const struct engine_def *def, const struct agent_report *report,
                            int exit_code, const char *err_text, enum failure *ret_failure,
                            struct buf *ret_reason)
{
    if (!def->judge_exit || !def->judge_exit(exit_code, err_text, ret_failure, ret_reason))
        return false;
    if (!ret_reason->len && report->finished && !report->ok)
        buf_add(ret_reason, report->text.s, report->text.len);
    if (!ret_reason->len)
        add_exit(ret_reason, exit_code, err_text);
    return true;
}

bool agent_ended_early(enum agent_engine engine, const struct agent_report *report, int exit_code,
                       int signal)
{
    const struct engine_def *def = find_engine(engine);
    return def->ends_early && exit_code == 0 && !signal && report->speaks && !report->finished &&
           !report->failed;
}

bool agent_failed(enum agent_engine engine, const struct agent_report *report, int exit_code,
                  int signal, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason)
{
    enum { USAGE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
    const struct engine_def *def = find_engine(engine);
    bool speaks = def->dialect;
    if (report->failed) {
        *ret_failure = report->failure;
        buf_add(ret_reason, report->reason.s, report->reason.len);
        return true;
    }
    if (!signal && judge_by_engine(def, report, exit_code, err_text, ret_failure, ret_reason))
        return true;
    bool well = exit_code == 0 || (exit_code == 1 && report->recovered);
    if (well && (!speaks || (report->finished && report->ok)))
        return false;
    if (signal) {
        *ret_failure = FAILURE_TRANSIENT;
        buf_addf(ret_reason, "ended by signal %d", signal);
    } else if (exit_code == 0) {
        *ret_failure = FAILURE_TRANSIENT;
        buf_addstr(ret_reason, "ended without a result");
    } else if (exit_code == USAGE || exit_code == NOT_EXECUTABLE || exit_code == NOT_FOUND) {
        *ret_failure = FAILURE_SETUP;
        add_exit(ret_reason, exit_code, err_text);
    } else {
        *ret_failure = classify_words(err_text);
        if (*ret_failure == FAILURE_TRANSIENT)
            *ret_failure = classify_words(report->text.s);
        add_exit(ret_reason, exit_code, err_text);
    }
    return true;
}
