/*
 * Makes all threads or none. If one fails, we remove those that were made. Each becomes a thread
 * when we write its file, after all are ready.
 */
#include "threads/fanout/fanout_private.h"

#include "base/mem.h"
#include "git/config/excludes_file.h"
#include "git/config/worktree_config.h"
#include "git/state_paths.h"
#include "run/watch/other_runs.h"
#include "store/store.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "threads/hooks.h"
#include "threads/relocate.h"
#include "threads/remove.h"
#include "workspace/root_folder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_AT_ONCE = 16 };

static void on_signal(struct fanout_job *m, int signal)
{
    if (!m->failed)
        (void)err_set(m->err, ERR_ENV, "stopped by a signal: removed everything that was made");
    m->f->signal = m->f->signal ? m->f->signal : signal;
    m->failed = true;
    makers_stop(m);
}

static void on_int(void *ctx)
{
    on_signal(ctx, SIGINT);
}

static void on_term(void *ctx)
{
    on_signal(ctx, SIGTERM);
}

/* From here on signals wait until the loop runs. Writing to a guard that has exited must fail with
 * an error, not SIGPIPE. */
static void watch_signals(struct fanout_job *m)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    m->loop = loop_new();
    m->signals[0] = loop_signal(m->loop, SIGINT, on_int, m);
    m->signals[1] = loop_signal(m->loop, SIGTERM, on_term, m);
    m->signals[2] = loop_signal(m->loop, SIGHUP, on_term, m);
}

static void fanout_job_init(struct fanout_job *m, struct fanout *f, struct err *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *m = (struct fanout_job){
        .f = f,
        .err = err,
        .batch = git_batch_new(f->pf->repo.common),
        .excludes = BUF_INIT,
        .makers = mem_array(f->fresh.n, sizeof(*m->makers)),
        .limit = processors < 2             ? 2
                 : processors > MAX_AT_ONCE ? MAX_AT_ONCE
                                            : (size_t)processors,
    };
    watch_signals(m);
    for (size_t i = 0; i < f->fresh.n; i++) {
        struct thread_maker *w = &m->makers[i];
        const struct thread *t = &f->fresh.v[i];
        const char *prefix = f->pf->repo.prefix;
        *w = (struct thread_maker){
            .all = m,
            .thread = &f->fresh.v[i],
            .cwd = mem_printf("%s%s%s", t->path, *prefix ? "/" : "", prefix),
            .log = mem_printf("%s/anabranch.log", t->admin),
            .excludes = mem_printf("%s/anabranch.excludes", t->admin),
            .brought = mem_printf("%s/anabranch.brought", t->admin),
        };
    }
}

static void maker_done(struct thread_maker *w)
{
    workspace_done(&w->ws);
    free(w->cwd);
    free(w->log);
    free(w->excludes);
    free(w->brought);
}

static void fanout_job_done(struct fanout_job *m)
{
    for (size_t i = 0; i < m->f->fresh.n; i++)
        maker_done(&m->makers[i]);
    for (size_t i = 0; i < ARRAY_LEN(m->signals); i++)
        watch_free(m->signals[i]);
    free(m->makers);
    buf_done(&m->excludes);
    free(m->user_hooks);
    ports_done(&m->ports);
    git_batch_free(m->batch);
    loop_free(m->loop);
    free(m->made_folder);
}

/* Also removes the branch if it has nothing but the base. */
static int remove_half_made(const struct fanout *f, const struct thread *t, struct err *err)
{
    const struct git_repo *repo = &f->pf->repo;
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf tip = BUF_INIT;
    bool in_base = false;
    if (git_resolve(&at, t->branch, &tip, NULL) == 0 &&
        git_is_ancestor(&at, tip.s, f->base_commit, &in_base, err))
        return -1;
    return thread_remove(t, repo, in_base ? tip.s : NULL, err);
}

/* Removes what a killed fanout left. */
static int remove_all_half_made(const struct fanout *f, struct err *err)
{
    for (size_t i = 0; i < f->fresh.n; i++) {
        const struct thread *t = &f->fresh.v[i];
        if (fanout_is_half_made(t) && remove_half_made(f, t, err))
            return -1;
    }
    return 0;
}

/* Another fanout may have run between our checks and the lock. */
static int check_again(const struct fanout *f, struct err *err)
{
    autothreads struct threads now;
    if (threads_load(&now, &f->pf->repo, err) || threads_check(&now, err))
        return -1;
    if (now.n != f->there.n)
        return err_set(err, ERR_ENV, "another fanout was running: try again");
    return remove_all_half_made(f, err);
}

/* Gives the folder the same mode as mkdir: other programs and users look into it. */
static int reset_mode(const char *path, struct err *err)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return chmod(path, 0777 & ~mask) < 0 ? err_sys(err, "chmod '%s'", path) : 0;
}

/* The topmost folder of a path that does not exist; NULL if all exist. */
static char *find_first_missing(const char *path)
{
    for (const char *end = path; *end;) {
        end += 1 + strcspn(end + 1, "/");
        autofree char *part = mem_dup(path, (size_t)(end - path));
        if (!file_exists(part))
            return steal_ptr(part);
    }
    return NULL;
}

static int make_folder(struct fanout_job *m, struct err *err)
{
    const char *work = m->f->work;
    m->made_folder = find_first_missing(work);
    if (dirs_make(work, err) || root_folder_hide(work, err))
        return -1;
    return m->made_folder ? reset_mode(work, err) : 0;
}

/* Removes the folders that we made, if they are empty. */
static void remove_folders(const struct fanout_job *m)
{
    autofree char *path = mem_str(m->f->work);
    size_t least = m->made_folder ? strlen(m->made_folder) : strlen(path) + 1;
    while (strlen(path) >= least && (rmdir(path) == 0 || errno == ENOENT))
        *strrchr(path, '/') = '\0';
}

/* Only the first fanout finds the extension off, but every thread must note that we enabled it. */
static int enable_extension(struct fanout_job *m, struct err *err)
{
    if (worktree_config_on(&m->f->pf->repo, &m->enabled_extension, err))
        return -1;
    bool ours = m->enabled_extension || worktree_config_is_ours(&m->f->pf->repo) ||
                (m->f->there.n && m->f->there.v[0].configured);
    for (size_t i = 0; i < m->f->fresh.n; i++)
        m->f->fresh.v[i].configured = ours;
    return 0;
}

static int make_worktrees(struct fanout_job *m, struct err *err)
{
    const struct fanout *f = m->f;
    for (size_t i = 0; i < f->fresh.n; i++) {
        struct thread_maker *w = &m->makers[i];
        const struct thread *t = w->thread;
        if (maker_reserve_ports(w, err) ||
            workspace_create(&w->ws, &f->pf->repo, t->path, t->branch, t->base_commit, m->batch,
                             err))
            return err_wrap(err, "thread %s", t->id);
        w->has_ws = true;
        if (reset_mode(t->path, err))
            return -1;
    }
    return 0;
}

static int prepare_job(struct fanout_job *m, struct err *err)
{
    if (excludes_add_own(m->f->pf->repo.root, &m->excludes, err) || make_folder(m, err) ||
        thread_hooks_find(&m->f->pf->repo, &m->user_hooks, err) || enable_extension(m, err))
        return -1;
    return make_worktrees(m, err);
}

/* If we cannot remove something, its path goes into the error, too. */
static void remove_made(struct fanout_job *m)
{
    const struct fanout *f = m->f;
    struct err why = {0};
    for (size_t i = f->fresh.n; i-- > 0;) {
        const struct thread_maker *w = &m->makers[i];
        if (w->has_ws && thread_remove(w->thread, &f->pf->repo, w->thread->base_commit, &why))
            (void)err_wrap(m->err, "could not remove %s", w->thread->path);
    }
    if (threads_leave(&f->pf->repo, &f->fresh.v[0], &why))
        (void)err_wrap(m->err, "%s", why.msg);
    remove_folders(m);
}

/* From now on the worktrees are for people. */
static int save_threads(struct fanout_job *m, struct err *err)
{
    for (size_t i = 0; i < m->f->fresh.n; i++) {
        if (thread_save(m->makers[i].thread, err))
            return -1;
    }
    for (size_t i = 0; i < m->f->fresh.n; i++)
        workspace_release(&m->makers[i].ws);
    return 0;
}

static int run_job(struct fanout_job *m, struct err *err)
{
    if (prepare_job(m, err))
        return -1;
    makers_start(m);
    if (loop_run(m->loop, err) || m->failed)
        return -1;
    return save_threads(m, err);
}

static int make_all(struct fanout *f, struct err *err)
{
    own_cleanup(fanout_job_done) struct fanout_job m;
    fanout_job_init(&m, f, err);
    int rc = run_job(&m, err);
    if (rc)
        remove_made(&m);
    return rc;
}

/* A live run should not take our worktrees for changes of its agents. */
static int note_worktrees(const struct fanout *f, struct err *err)
{
    autofree char *state_dir = state_path(f->pf->repo.common);
    autofree char *ignore = mem_printf("%s/.gitignore", f->work);
    autostore struct store *store = NULL;
    struct err none = {0};
    if (store_open(&store, state_dir, false, &none))
        return 0;
    for (size_t i = 0; i < f->fresh.n; i++) {
        const struct thread *t = &f->fresh.v[i];
        if (other_runs_note(store, state_dir, t->path, t->branch, err))
            return -1;
    }
    return other_runs_note(store, state_dir, ignore, NULL, err);
}

int fanout_make(struct fanout *f, struct err *err)
{
    autoclose int lock = -1;
    if (threads_relocate(&f->there, &f->pf->repo, err))
        return -1;
    if (!f->fresh.n)
        return 0;
    if (threads_lock(&f->pf->repo, f->opts.waiting, &lock, err) || check_again(f, err) ||
        note_worktrees(f, err))
        return -1;
    return make_all(f, err);
}
