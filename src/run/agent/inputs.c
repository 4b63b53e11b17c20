#include "run/agent/inputs.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "plan/words.h"
#include "run/agent/findings.h"
#include "run/attempt/attempt.h"
#include "run/prepare/prepare.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns an owned path relative to the agent's folder. If the plan's file writes paths relative to
 * itself, we convert them; a path outside the project stays relative to the root. */
static const char *owned_path(const struct run *run, const struct task *t, size_t i)
{
    struct claimed **owns = run->pf->claims.owns ? run->pf->claims.owns[t->index] : NULL;
    if (!run->pf->plan.claims_from_file || !owns || !owns[i])
        return t->owns.v[i].text;
    const char *prefix = run->pf->repo.root ? run->pf->repo.prefix : "", *path = owns[i]->path;
    size_t len = strlen(prefix);
    if (strncmp(path, CLAIMS_OUTSIDE "/", strlen(CLAIMS_OUTSIDE "/")) == 0)
        return path + strlen(CLAIMS_OUTSIDE);
    return len && strncmp(path, prefix, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

static void add_owns(struct strv *env, const struct run *run, const struct task *t)
{
    autobuf struct buf owns = BUF_INIT;
    for (size_t i = 0; i < t->owns.n; i++)
        buf_addf(&owns, "%s%s", i ? "\n" : "", owned_path(run, t, i));
    env_set(env, "ANABRANCH_OWNS", "%s", owns.s);
}

/* Adds a git setting after those in the user's own environment. */
static void add_git_setting(struct strv *env, const char *key, const char *value)
{
    static const char name[] = "GIT_CONFIG_COUNT=";
    long count = 0;
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], name, strlen(name)) == 0)
            count = strtol(env->v[i] + strlen(name), NULL, 10);
    }
    autofree char *key_name = mem_printf("GIT_CONFIG_KEY_%ld", count);
    autofree char *value_name = mem_printf("GIT_CONFIG_VALUE_%ld", count);
    env_set(env, key_name, "%s", key);
    env_set(env, value_name, "%s", value);
    env_set(env, "GIT_CONFIG_COUNT", "%ld", count + 1);
}

int attempt_environment(struct attempt *attempt, struct strv *env, struct err *err)
{
    const struct run *run = attempt->run;
    const struct task *t = &run->pf->plan.tasks[attempt->task];
    git_outside_environment(env);
    for (size_t i = 0; i < t->env.n; i++) {
        if (env_set_planned(env, &t->env.v[i], err))
            return -1;
    }
    for (size_t i = 0; run->opts.write_env && !t->read_only && run->opts.write_env[i]; i++)
        strv_push(env, run->opts.write_env[i]);
    env_set(env, "ANABRANCH_RUN", "%s", run->id);
    env_set(env, "ANABRANCH_TASK", "%s", t->id);
    env_set(env, "ANABRANCH_ATTEMPT", "%d", attempt->number);
    env_set(env, "ANABRANCH_WORKSPACE", "%s", attempt->cwd);
    env_set(env, "TMPDIR", "%s/tmp", attempt->dir);
    /* If a workspace loses its .git, git must not take it for a part of the user's checkout. */
    if (run->base.name)
        env_set(env, "GIT_CEILING_DIRECTORIES", "%s/%s:%s", run->work.dir, run->id,
                getenv("GIT_CEILING_DIRECTORIES") ? getenv("GIT_CEILING_DIRECTORIES") : "");
    if (attempt->prepare.port)
        env_set(env, "ANABRANCH_PORT", "%d", attempt->prepare.port);
    if (t->estimate > 0)
        env_set(env, "ANABRANCH_ESTIMATE_MS", "%lld", (long long)t->estimate);
    add_owns(env, run, t);
    /* An agent's git must not pack or prune the shared objects on its own. Its `git add -A` leaves
     * out the included files, as ours does. */
    add_git_setting(env, "gc.auto", "0");
    add_git_setting(env, "maintenance.auto", "false");
    if (attempt->prepare.excludes)
        add_git_setting(env, "core.excludesFile", attempt->prepare.excludes);
    return 0;
}

/* For an agent whose session already has the task. */
static const char resumed_text[] =
    "The program that runs you was interrupted while you were working. Your folder is as you left "
    "it. Look at what is there, and finish the task that you were given.\n";

/* For an agent whose work failed when merged with that of others. */
static const char merged_text[] =
    "\nYour folder now has your work merged with everything that has landed meanwhile: we verified "
    "that. Fix it there.\n";

int attempt_write_prompt(struct attempt *attempt, const char *path, struct err *err)
{
    const struct run *run = attempt->run;
    const struct task *t = &run->pf->plan.tasks[attempt->task];
    autobuf struct buf text = BUF_INIT;
    if (attempt->agent.session && !attempt->repair)
        buf_addstr(&text, resumed_text);
    else if (!attempt->agent.session && (plan_file_prompt(run->pf, t, &text, err) ||
                                         findings_tell(run, attempt->task, &text, err)))
        return -1;
    const char *told =
        attempt->agent.brief ? attempt->agent.brief : run->tasks[attempt->task].feedback;
    if (told)
        buf_addf(&text, "%s%s\n", text.len ? "\n\n" : "", told);
    if (attempt->repair == REPAIR_MERGED)
        buf_addstr(&text, merged_text);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    return file_create(path, text.s, text.len, err);
}

static void add_placeholder(struct buf *out, const struct attempt *attempt, const char *word,
                            size_t len)
{
    const struct task *t = &attempt->run->pf->plan.tasks[attempt->task];
    const struct {
        const char *word, *value;
    } known[] = {
        {"{id}", t->id},
        {"{title}", t->title ? t->title : t->id},
        {"{run}", attempt->run->id},
        {"{engine}", run_engine_name(attempt->run, attempt->task)},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strlen(known[i].word) == len && strncmp(known[i].word, word, len) == 0) {
            buf_addstr(out, known[i].value);
            return;
        }
    }
    buf_add(out, word, len);
}

void attempt_expand(const struct attempt *attempt, const char *s, struct buf *out)
{
    while (*s) {
        size_t plain = strcspn(s, "{");
        buf_add(out, s, plain);
        s += plain;
        if (!*s)
            break;
        size_t len = strcspn(s, "}");
        add_placeholder(out, attempt, s, len + (s[len] == '}'));
        s += len + (s[len] == '}');
    }
}

char *attempt_message(struct attempt *attempt)
{
    const struct plan *plan = &attempt->run->pf->plan;
    autobuf struct buf out = BUF_INIT;
    attempt_expand(attempt, plan->commit_message ? plan->commit_message : "{title}", &out);
    buf_addf(&out, "\n\nAnabranch-Task: %s\nAnabranch-Run: %s\n", plan->tasks[attempt->task].id,
             attempt->run->id);
    return buf_steal(&out);
}

int attempt_command(const struct plan_command *cmd, const char *dir, struct agent_call *call)
{
    if (cmd->shell)
        strv_pushl(&call->argv, "/bin/sh", "-c", cmd->shell, NULL);
    for (size_t i = 0; i < cmd->argv.n; i++)
        strv_push(&call->argv, cmd->argv.v[i]);
    call->interrupt_signal = SIGTERM;
    call->dir = mem_str(dir);
    return 0;
}
