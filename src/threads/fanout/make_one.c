/*
 * Making one thread, beside others: its worktree is filled, files are brought along, git is told
 * what to ignore, the brief is written, workspace.setup is run.
 */
#include "threads/fanout/fanout_private.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "git/config/worktree_config.h"
#include "sys/fs/file.h"
#include "sys/self_exe.h"
#include "sys/time_limits.h"
#include "threads/brief.h"
#include "threads/claude_settings.h"
#include "threads/hooks.h"
#include "workspace/fill/copy_fill.h"
#include "workspace/fill/include.h"

#include <string.h>
#include <unistd.h>

enum {
    PORTS = 10,                /* as a run gives */
    SETUP_MS = 10 * 60 * 1000, /* likewise */
    EXCLUDES_MAX = 64 << 20,
};

/* --- stopping ----------------------------------------------------------------------------- */

void makers_stop(struct making *m)
{
    for (size_t i = 0; i < m->f->fresh.n; i++)
        guarded_stop(&m->makers[i].errand);
}

static void finish_one(struct making *m)
{
    m->running--;
    makers_start(m);
}

/* The first failure counts; the others are its consequence, and their errors are dropped. */
static void fail(struct maker *w, const struct err *why)
{
    struct making *m = w->all;
    if (!m->failed)
        (void)err_set(m->err, why->code, "thread %s: %s", w->thread->id, why->msg);
    m->failed = true;
    makers_stop(m);
    finish_one(m);
}

/* --- what they are given ------------------------------------------------------------------ */

static bool is_taken(const struct threads *ts, int64_t port, int64_t size)
{
    for (size_t i = 0; i < ts->n; i++) {
        const struct thread *t = &ts->v[i];
        if (t->ports && port < t->port + t->ports && t->port < port + size)
            return true;
    }
    return false;
}

/* Where the plan does not ask for ports, having none is no failure. */
int maker_take_ports(struct maker *w, struct err *err)
{
    int64_t wanted = w->all->f->pf->plan.ports, size = wanted > 0 ? wanted : PORTS;
    int port = 0;
    if (wanted != 0) {
        do
            port = ports_take(&w->all->ports, (int)size);
        while (port && is_taken(&w->all->f->there, port, size));
    }
    if (wanted > 0 && !port)
        return err_set(err, ERR_ENV, "no %lld ports in a row are free", (long long)wanted);
    w->thread->port = port;
    w->thread->ports = port ? size : 0;
    return 0;
}

/* The user's patterns, those of what was brought along, and what is ours. */
static int write_excludes(struct maker *w, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (access(w->excludes, F_OK) < 0)
        buf_add(&text, w->all->excludes.s, w->all->excludes.len);
    else if (file_read(w->excludes, EXCLUDES_MAX, &text, err))
        return -1;
    buf_addstr(&text, "/" THREAD_BRIEF "\n/" CLAUDE_SETTINGS "\n");
    return file_replace(w->excludes, text.s, text.len, err) ||
                   worktree_config_set(w->thread->admin, "core.excludesFile", w->excludes, err)
               ? -1
               : 0;
}

static int write_brief(struct maker *w, struct err *err)
{
    autofree char *path = mem_printf("%s/" THREAD_BRIEF, w->thread->path);
    autobuf struct buf text = BUF_INIT;
    const struct fanout *f = w->all->f;
    if (f->opts.brief)
        f->opts.brief(f->pf, w->thread, &text);
    else
        brief(w->thread, &text);
    return file_create(path, text.s, text.len, err);
}

/* --- setup -------------------------------------------------------------------------------- */

static const struct task *task_of(const struct maker *w)
{
    return plan_find(&w->all->f->pf->plan, w->thread->id);
}

static int setup_environment(const struct maker *w, struct strv *env, struct err *err)
{
    const struct thread *t = w->thread;
    const struct env_vars *vars = &task_of(w)->env;
    autobuf struct buf owns = BUF_INIT;
    git_outside_environment(env);
    for (size_t i = 0; i < vars->n; i++) {
        if (env_set_planned(env, &vars->v[i], err))
            return -1;
    }
    for (size_t i = 0; i < t->owns.n; i++)
        buf_addf(&owns, "%s%s", i ? "\n" : "", t->owns.v[i]);
    env_set(env, "ANABRANCH_TASK", "%s", t->id);
    env_set(env, "ANABRANCH_WORKSPACE", "%s", w->cwd);
    env_set(env, "ANABRANCH_OWNS", "%s", owns.s);
    if (t->ports)
        env_set(env, "ANABRANCH_PORT", "%lld", (long long)t->port);
    return 0;
}

static void on_set_up(void *ctx, struct guarded *e)
{
    struct maker *w = ctx;
    autobuf struct buf words = BUF_INIT;
    struct err err = {0};
    if (e->exit_code == 0 && !e->overdue) {
        finish_one(w->all);
        return;
    }
    guarded_last_words(e, &words);
    if (e->overdue)
        (void)err_set(&err, ERR_ENV, "workspace.setup took too long");
    else
        (void)err_set(&err, ERR_ENV, "workspace.setup ended with %d: %.300s", e->exit_code,
                      words.s);
    fail(w, &err);
}

static int start_setup(struct maker *w, struct err *err)
{
    const struct plan_command *setup = &w->all->f->pf->plan.setup;
    autostrv struct strv argv = {0}, env = {0};
    if (setup->shell)
        strv_pushl(&argv, "/bin/sh", "-c", setup->shell, NULL);
    for (size_t i = 0; i < setup->argv.n; i++)
        strv_push(&argv, setup->argv.v[i]);
    w->errand = (struct guarded){.dir = w->cwd,
                                 .log = w->log,
                                 .guarded = true,
                                 .time = time_limit_with_commands(SETUP_MS),
                                 .next = on_set_up,
                                 .ctx = w};
    return setup_environment(w, &env, err) ||
                   guarded_start(&w->errand, w->all->loop, &argv, &env, err)
               ? -1
               : 0;
}

/* Everything that is there before the setup sees the worktree. */
static void furnish(struct maker *w)
{
    const struct plan_command *setup = &w->all->f->pf->plan.setup;
    bool has_setup = setup->shell || setup->argv.n;
    struct err err = {0};
    if (w->all->failed)
        finish_one(w->all);
    else if (write_excludes(w, &err) || write_brief(w, &err) ||
             thread_hooks_install(&w->all->f->pf->repo, w->thread, w->all->hooks, &err) ||
             (has_setup && start_setup(w, &err)))
        fail(w, &err);
    else if (!has_setup)
        finish_one(w->all);
}

/* --- files -------------------------------------------------------------------------------- */

static void on_brought(void *ctx, struct guarded *e)
{
    struct maker *w = ctx;
    autobuf struct buf words = BUF_INIT;
    struct err err = {0};
    if (e->exit_code == 0) {
        furnish(w);
        return;
    }
    guarded_last_words(e, &words);
    (void)err_set(&err, ERR_ENV, "files could not be brought along: %.300s", words.s);
    fail(w, &err);
}

/* Copying takes as long as it takes, so another process does it. */
static int start_bringing(struct maker *w, struct err *err)
{
    const struct fanout *f = w->all->f;
    const struct strings *const lists[] = {&f->pf->plan.include, &f->pf->plan.share};
    autostrv struct strv argv = {0}, env = {0};
    strv_pushl(&argv, self_path(), "__bring", "--root", f->pf->repo.root, "--prefix",
               f->pf->repo.prefix, "--work", f->work, "--excludes", w->excludes, "--brought",
               w->brought, "--", w->thread->path, NULL);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (size_t k = 0; k < lists[i]->n; k++)
            strv_push(&argv, lists[i]->v[k]);
    }
    git_environment(&env);
    w->errand =
        (struct guarded){.dir = f->pf->repo.root, .log = w->log, .next = on_brought, .ctx = w};
    return guarded_start(&w->errand, w->all->loop, &argv, &env, err);
}

static void bring(struct maker *w)
{
    const struct plan_file *pf = w->all->f->pf;
    size_t patterns = pf->plan.include.n + pf->plan.share.n;
    struct err err = {0};
    if (w->all->failed)
        finish_one(w->all);
    else if (!include_is_needed(pf->repo.root, pf->repo.prefix, patterns))
        furnish(w);
    else if (start_bringing(w, &err))
        fail(w, &err);
}

static void on_filled(void *ctx, struct guarded *e)
{
    struct maker *w = ctx;
    autobuf struct buf words = BUF_INIT;
    struct err err = {0};
    if (e->exit_code == 0) {
        bring(w);
        return;
    }
    guarded_last_words(e, &words);
    (void)err_set(&err, ERR_ENV, "the worktree could not be filled: %.300s", words.s);
    fail(w, &err);
}

static int start_filling(struct maker *w, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    copy_fill_command(&w->all->f->pf->repo, &w->ws, w->thread->base_commit, &argv, &env);
    w->errand =
        (struct guarded){.dir = w->thread->path, .log = w->log, .next = on_filled, .ctx = w};
    return guarded_start(&w->errand, w->all->loop, &argv, &env, err);
}

void makers_start(struct making *m)
{
    while (!m->failed && m->running < m->limit && m->next < m->f->fresh.n) {
        struct maker *w = &m->makers[m->next++];
        struct err err = {0};
        m->running++;
        if (start_filling(w, &err))
            fail(w, &err);
    }
    if (!m->running)
        loop_stop(m->loop);
}
