#include "run/job_env.h"

#include "base/mem.h"
#include "core/plan_words.h"
#include "sys/file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PROMPT_MAX = 8 << 20 };

static int add_plan_variable(struct strv *env, const struct env_var *var, struct err *err)
{
    const char *value = var->from ? getenv(var->from) : var->value;
    if (!value)
        return err_set(err, ERR_INPUT, "the variable '%s', for '%s', is not set", var->from,
                       var->name);
    strv_pushf(env, "%s=%s", var->name, value);
    return 0;
}

static void add_owns(struct strv *env, const struct task *t)
{
    autobuf struct buf owns = BUF_INIT;
    for (size_t i = 0; i < t->owns.n; i++)
        buf_addf(&owns, "%s%s", i ? "\n" : "", t->owns.v[i].text);
    strv_pushf(env, "ANABRANCH_OWNS=%s", owns.s);
}

int job_environment(struct job *job, struct strv *env, struct err *err)
{
    const struct run *run = job->run;
    const struct task *t = &run->pf->plan.tasks[job->task];
    git_environment(env);
    for (size_t i = 0; i < t->env.n; i++) {
        if (add_plan_variable(env, &t->env.v[i], err))
            return -1;
    }
    strv_pushf(env, "ANABRANCH_RUN=%s", run->id);
    strv_pushf(env, "ANABRANCH_TASK=%s", t->id);
    strv_pushf(env, "ANABRANCH_ATTEMPT=%d", job->attempt);
    strv_pushf(env, "ANABRANCH_WORKSPACE=%s", job->cwd);
    strv_pushf(env, "TMPDIR=%s/tmp", job->dir);
    if (t->estimate > 0)
        strv_pushf(env, "ANABRANCH_ESTIMATE_MS=%lld", (long long)t->estimate);
    add_owns(env, t);
    /* Nothing that an agent's git does in passing may pack or prune the shared objects. */
    strv_pushl(env, "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
               "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false", NULL);
    return 0;
}

int job_write_prompt(struct job *job, const char *path, struct err *err)
{
    const struct run *run = job->run;
    const struct task *t = &run->pf->plan.tasks[job->task];
    autobuf struct buf text = BUF_INIT;
    if (t->prompt) {
        buf_addstr(&text, t->prompt);
    } else {
        autofree char *file = *t->prompt_file == '/'
                                  ? mem_str(t->prompt_file)
                                  : mem_printf("%s/%s", run->pf->project, t->prompt_file);
        if (file_read(file, PROMPT_MAX, &text, err))
            return -1;
    }
    if (run->tasks[job->task].feedback)
        buf_addf(&text, "\n\n%s\n", run->tasks[job->task].feedback);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    return file_create(path, text.s, text.len, err);
}

static void add_placeholder(struct buf *out, const struct job *job, const char *word, size_t len)
{
    const struct task *t = &job->run->pf->plan.tasks[job->task];
    const struct {
        const char *word, *value;
    } known[] = {
        {"{id}", t->id},
        {"{title}", t->title ? t->title : t->id},
        {"{run}", job->run->id},
        {"{engine}", run_engine_name(job->run, job->task)},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].word) == len && strncmp(known[i].word, word, len) == 0) {
            buf_addstr(out, known[i].value);
            return;
        }
    }
    buf_add(out, word, len);
}

char *job_message(struct job *job)
{
    const struct plan *plan = &job->run->pf->plan;
    const char *s = plan->commit_message ? plan->commit_message : "{title}";
    autobuf struct buf out = BUF_INIT;
    while (*s) {
        size_t plain = strcspn(s, "{");
        buf_add(&out, s, plain);
        s += plain;
        if (!*s)
            break;
        size_t len = strcspn(s, "}");
        add_placeholder(&out, job, s, len + (s[len] == '}'));
        s += len + (s[len] == '}');
    }
    buf_addf(&out, "\n\nAnabranch-Task: %s\nAnabranch-Run: %s\n", plan->tasks[job->task].id,
             job->run->id);
    return buf_steal(&out);
}

int job_command(const struct plan_command *cmd, const char *dir, struct agent_call *call)
{
    if (cmd->shell)
        strv_pushl(&call->argv, "/bin/sh", "-c", cmd->shell, NULL);
    for (size_t i = 0; i < cmd->argv.n; i++)
        strv_push(&call->argv, cmd->argv.v[i]);
    call->stop_signal = SIGTERM;
    call->dir = mem_str(dir);
    return 0;
}
