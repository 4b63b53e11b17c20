/*
 * Makes one thread, in parallel with others: fills its worktree, adds included files, writes git's
 * ignore patterns and the brief, and runs workspace.setup.
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
    DEFAULT_PORTS = 10,                /* as in a run */
    SETUP_TIMEOUT_MS = 10 * 60 * 1000, /* likewise */
    EXCLUDES_MAX = 64 << 20,
};

void makers_stop(struct fanout_job *m)
{
    for (size_t i = 0; i < m->f->fresh.n; i++)
        guarded_stop(&m->makers[i].child);
}

static void finish_one(struct fanout_job *m)
{
    m->running--;
    makers_start(m);
}

/* Reports only the first failure: the others are its consequences. */
static void report_failure(struct thread_maker *w, const struct err *why)
{
    struct fanout_job *m = w->all;
    if (!m->failed)
        (void)err_set(m->err, why->code, "thread %s: %s", w->thread->id, why->msg);
    m->failed = true;
    makers_stop(m);
    finish_one(m);
}

/* False if a process has failed; then reports it. */
static bool check_end(struct thread_maker *w, const struct guarded *e, const char *what)
{
    autobuf struct buf output = BUF_INIT;
    struct err err = {0};
    if (e->exit_code == 0)
        return true;
    guarded_last_words(e, &output);
    (void)err_set(&err, ERR_ENV, "%s: %.300s", what, output.s);
    report_failure(w, &err);
    return false;
}

static bool is_reserved(const struct threads *ts, int64_t port, int64_t size)
{
    for (size_t i = 0; i < ts->n; i++) {
        const struct thread *t = &ts->v[i];
        if (t->ports && port < t->port + t->ports && t->port < port + size)
            return true;
    }
    return false;
}

/* It is an error only if the plan asks for ports and there are none. */
int maker_reserve_ports(struct thread_maker *w, struct err *err)
{
    int64_t wanted = w->all->f->pf->plan.ports, size = wanted > 0 ? wanted : DEFAULT_PORTS;
    int port = 0;
    if (wanted != 0) {
        do
            port = ports_take(&w->all->ports, (int)size);
        while (port && is_reserved(&w->all->f->there, port, size));
    }
    if (wanted > 0 && !port)
        return err_set(err, ERR_ENV, "no %lld consecutive ports are free", (long long)wanted);
    w->thread->port = port;
    w->thread->ports = port ? size : 0;
    return 0;
}

/* The user's patterns, those of included files, and our own files. */
static int write_excludes(struct thread_maker *w, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (access(w->excludes, F_OK) < 0)
        buf_add(&text, w->all->excludes.s, w->all->excludes.len);
    else if (file_read(w->excludes, EXCLUDES_MAX, &text, err))
        return -1;
    buf_addstr(&text, "/" THREAD_BRIEF "\n/" CLAUDE_SETTINGS "\n");
    if (file_replace(w->excludes, text.s, text.len, err))
        return -1;
    return worktree_config_set(w->thread->admin, "core.excludesFile", w->excludes, err);
}

static int write_brief(struct thread_maker *w, struct err *err)
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

static const struct task *get_task(const struct thread_maker *w)
{
    return plan_find(&w->all->f->pf->plan, w->thread->id);
}

static int setup_environment(const struct thread_maker *w, struct strv *env, struct err *err)
{
    const struct thread *t = w->thread;
    const struct env_vars *vars = &get_task(w)->env;
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

static void on_setup_end(void *ctx, struct guarded *e)
{
    struct thread_maker *w = ctx;
    struct err err = {0};
    autofree char *what = mem_printf("workspace.setup ended with %d", e->exit_code);
    if (e->overdue) {
        (void)err_set(&err, ERR_ENV, "workspace.setup timed out");
        report_failure(w, &err);
    } else if (check_end(w, e, what)) {
        finish_one(w->all);
    }
}

static int start_setup(struct thread_maker *w, struct err *err)
{
    const struct plan_command *setup = &w->all->f->pf->plan.setup;
    autostrv struct strv argv = {0}, env = {0};
    if (setup->shell)
        strv_pushl(&argv, "/bin/sh", "-c", setup->shell, NULL);
    for (size_t i = 0; i < setup->argv.n; i++)
        strv_push(&argv, setup->argv.v[i]);
    w->child = (struct guarded){.dir = w->cwd,
                                .log = w->log,
                                .guarded = true,
                                .time = time_limit_with_commands(SETUP_TIMEOUT_MS),
                                .next = on_setup_end,
                                .ctx = w};
    if (setup_environment(w, &env, err))
        return -1;
    return guarded_start(&w->child, w->all->loop, &argv, &env, err);
}

/* Adds our files before the setup command sees the worktree. */
static void add_our_files(struct thread_maker *w)
{
    const struct plan_command *setup = &w->all->f->pf->plan.setup;
    bool has_setup = setup->shell || setup->argv.n;
    struct err err = {0};
    if (w->all->failed)
        finish_one(w->all);
    else if (write_excludes(w, &err) || write_brief(w, &err) ||
             thread_hooks_install(&w->all->f->pf->repo, w->thread, w->all->user_hooks, &err) ||
             (has_setup && start_setup(w, &err)))
        report_failure(w, &err);
    else if (!has_setup)
        finish_one(w->all);
}

static void on_included(void *ctx, struct guarded *e)
{
    if (check_end(ctx, e, "could not include files"))
        add_our_files(ctx);
}

/* Copying may take long, so another process does it. */
static int start_including(struct thread_maker *w, struct err *err)
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
    w->child =
        (struct guarded){.dir = f->pf->repo.root, .log = w->log, .next = on_included, .ctx = w};
    return guarded_start(&w->child, w->all->loop, &argv, &env, err);
}

static void include_files(struct thread_maker *w)
{
    const struct plan_file *pf = w->all->f->pf;
    size_t patterns = pf->plan.include.n + pf->plan.share.n;
    struct err err = {0};
    if (w->all->failed)
        finish_one(w->all);
    else if (!include_is_needed(pf->repo.root, pf->repo.prefix, patterns))
        add_our_files(w);
    else if (start_including(w, &err))
        report_failure(w, &err);
}

static void on_filled(void *ctx, struct guarded *e)
{
    if (check_end(ctx, e, "could not fill the worktree"))
        include_files(ctx);
}

static int start_filling(struct thread_maker *w, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    copy_fill_command(&w->all->f->pf->repo, &w->ws, w->thread->base_commit, &argv, &env);
    w->child = (struct guarded){.dir = w->thread->path, .log = w->log, .next = on_filled, .ctx = w};
    return guarded_start(&w->child, w->all->loop, &argv, &env, err);
}

void makers_start(struct fanout_job *m)
{
    while (!m->failed && m->running < m->limit && m->next < m->f->fresh.n) {
        struct thread_maker *w = &m->makers[m->next++];
        struct err err = {0};
        m->running++;
        if (start_filling(w, &err))
            report_failure(w, &err);
    }
    if (!m->running)
        loop_stop(m->loop);
}
