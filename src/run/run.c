#include "run/run.h"

#include "base/mem.h"
#include "base/text/timestamp.h"
#include "git/config/frozen_config.h"
#include "git/sign.h"
#include "git/state_paths.h"
#include "run/agent/logs.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/checkout_note.h"
#include "run/checkout/checkout_warning.h"
#include "run/control/socket.h"
#include "run/land/durable.h"
#include "run/land/gc_hold.h"
#include "run/land/publish.h"
#include "run/limits/budget.h"
#include "run/notify/notify.h"
#include "run/notify/stream_events.h"
#include "run/prepare/overlay_fill.h"
#include "run/resume/resume_private.h"
#include "run/state/record.h"
#include "run/state/run_folder.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/wake.h"
#include "run/turn.h"
#include "run/watch/watch.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/self_exe.h"
#include "workspace/folder_record.h"
#include "workspace/root_folder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHERS_SHOWN = 20 };

static int make_folders(struct run *run, struct err *err)
{
    autofree char *tmp = run->base.name ? state_tmp_path(run->pf->repo.common) : NULL;
    return dirs_make(run->files.dir, err) || (tmp && dirs_make(tmp, err)) ||
                   dirs_check(run->work.dir, err)
               ? -1
               : 0;
}

/* A git that visits all worktrees, such as `git gc`, may have created the folder of a worktree
 * again after we removed it. */
static int remove_empty_worktree(void *ctx, const char *dir, const char *name, struct err *err)
{
    const struct run *run = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name), *link = mem_printf("%s/gitdir", path);
    autofree char *logs = mem_printf("%s/logs", path);
    (void)err;
    if (strncmp(name, run->id, strlen(run->id)) == 0 && access(link, F_OK) < 0) {
        (void)rmdir(logs); /* anything else in it is not ours */
        (void)rmdir(path);
    }
    return 0;
}

static void tidy_folders(struct run *run)
{
    autofree char *lock = mem_printf("%s/lock", run->files.state);
    autofree char *worktrees = mem_printf("%s/worktrees", run->pf->repo.common);
    struct err none = {0};
    root_folder_tidy(lock, run->work.dir, run->id);
    if (run->base.name)
        (void)dirs_each(worktrees, remove_empty_worktree, run, &none);
}

/* Writes the files that others need if this run dies: the lock shows that it died, the others name
 * its branches and the ignored files to salvage. */
static int write_run_files(struct run *run, struct err *err)
{
    autofree char *lock = mem_printf("%s/" RUN_LOCK, run->files.dir);
    autofree char *path = mem_printf("%s/" RUN_SALVAGE, run->files.dir);
    const struct strings *patterns = &run->pf->plan.salvage;
    autobuf struct buf text = BUF_INIT;
    for (size_t i = 0; i < patterns->n; i++)
        buf_add(&text, patterns->v[i], strlen(patterns->v[i]) + 1);
    autofree char *names = mem_printf("%s/" RUN_BRANCHES, run->files.dir);
    const char *pattern = run->opts.branch;
    if ((run->files.lock < 0 && dirs_lock(lock, &run->files.lock, err)) ||
        (run->base.name && !run->resume && folder_record_begin(run->files.dir, err)) ||
        (pattern && file_replace(names, pattern, strlen(pattern), err)))
        return -1;
    return text.len ? file_replace(path, text.s, text.len, err) : 0;
}

/* Agents of other runs may have changed git's configuration: we use it as it is now, and report the
 * differences. A resumed run already has its own configuration (run_reopen()). */
static int freeze_git(struct run *run, struct err *err)
{
    autofree char *dir = mem_printf("%s/" RUN_GIT, run->files.dir);
    const struct git_repo *repo = &run->pf->repo;
    autofree char *last = git_frozen_last(repo);
    if (!run->base.name || run->resume)
        return 0;
    if (last)
        git_frozen_news(repo, last, &run->notices.git_news);
    return git_freeze(repo, dir, run->guard.path ? run->guard.path : run->opts.self, err);
}

static void remove_run_files(const struct run *run)
{
    autofree char *git = mem_printf("%s/" RUN_GIT, run->files.dir);
    autofree char *lock = mem_printf("%s/" RUN_LOCK, run->files.dir);
    autofree char *salvage = mem_printf("%s/" RUN_SALVAGE, run->files.dir);
    autofree char *names = mem_printf("%s/" RUN_BRANCHES, run->files.dir);
    if (run->resume) /* the files belong to the earlier process as well */
        return;
    (void)unlink(lock);
    (void)unlink(salvage);
    (void)unlink(names);
    folder_record_remove(run->files.dir);
    git_frozen_remove(git);
    run_folder_remove(run->files.dir);
    (void)rmdir(run->files.dir);
}

/* Ends a run that has started only in the store, and deletes its ref. */
static void withdraw_run(struct run *run)
{
    struct git_place at = run_place(run);
    struct err none = {0};
    bool moved;
    run->finished = clock_wall();
    (void)record_end(run, "broken", RUN_EXIT_BROKEN, NULL); /* the caller reports the first error */
    (void)git_move_ref(&at, run->base.tip_ref, run->base.tip, "", "anabranch: not begun", &moved,
                       &none);
}

/* A killed run may have left locks and a half-moved checkout on the base, which hinder others too.
 * If the repair moves the base here, we merge it like a move by others. */
static void clear_base(struct run *run)
{
    autobase_lock struct base_lock turn = BASE_LOCK_INIT;
    autobuf struct buf from = BUF_INIT;
    struct err err = {0};
    if (!run->base.name || base_lock_take(&turn, run->files.state, NULL) || turn.fd < 0)
        return;
    base_lock_clear(&turn, &run->pf->repo, run->base.ref);
    if (checkout_note_mend(&turn, &run->pf->repo, &from, &err))
        record_error(run, -1, &err);
}

/* The store comes first: a new one is filled from the folders of earlier runs. */
static int start_run(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved;
    if (run->base.name && !run->work.only_reads && git_batch_get_ready(run->batch, err))
        return -1;
    if (dirs_make(run->files.state, err) ||
        (!run->journal.store && store_open(&run->journal.store, run->files.state, true, err)) ||
        make_folders(run, err) || write_run_files(run, err) || freeze_git(run, err) ||
        durable_mend(run, err) || warden_start(&run->guard.warden, run->opts.self, run->id, err))
        return -1;
    clear_base(run);
    if (run->resume)
        return resume_begin(run, err) || (run->base.name && repo_watch_begin(run, err)) ? -1 : 0;
    if (run_folder_write(run, err) || record_begin(run, err))
        return -1;
    if (!run->base.name || (git_move_ref(&at, run->base.tip_ref, "", run->base.tip,
                                         "anabranch: begin", &moved, err) == 0 &&
                            repo_watch_begin(run, err) == 0))
        return 0;
    withdraw_run(run);
    return -1;
}

/* Reports the first failure to sign; later ones add nothing. */
static void report_unsigned(struct run *run)
{
    struct sign *sign = run->batch ? git_batch_sign(run->batch) : NULL;
    struct err err = {0};
    if (!sign || !sign->failure.code)
        return;
    (void)err_set(&err, ERR_ENV,
                  "commit.gpgsign is set, and nothing can be signed without a prompt: commits of "
                  "this run are not signed (%s)",
                  sign->failure.msg);
    record_error(run, -1, &err);
    sign->failure = (struct err){0};
}

static void test_signing(struct run *run)
{
    struct git_place at = run_place(run);
    autobuf struct buf tree = BUF_INIT;
    const struct git_core *core = &run->pf->repo.core;
    struct err err = {0};
    if (!run->base.name || run->work.only_reads || !core->sign)
        return;
    if (git_tree_of(&at, run->base.tip, &tree, &err))
        record_error(run, -1, &err);
    else
        sign_begin(git_batch_sign(run->batch), core, run->opts.self, &at, tree.s);
    report_unsigned(run);
}

/* Reports programs that are new in git's configuration. They do not stop the run. */
static void report_git_news(struct run *run)
{
    autobuf struct buf list = BUF_INIT;
    struct err err = {0};
    for (size_t i = 0; i < run->notices.git_news.n; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", run->notices.git_news.v[i]);
    (void)err_set(
        &err, ERR_ENV,
        "git's configuration names programs that it did not name when %s began, which %s: "
        "%s",
        run->resume ? "this run" : "the last run",
        run->resume ? "are not run here" : "this run uses", list.s);
    if (run->notices.git_news.n)
        record_error(run, -1, &err);
}

static void report_store_notice(struct run *run)
{
    struct err err = {0};
    const char *notice = store_notice(run->journal.store);
    if (notice && err_set(&err, ERR_ENV, "%s", notice))
        record_error(run, -1, &err);
}

/* Workspaces that wait for a person stay too; we may see them by a mount. */
static bool is_workspace(void *ctx, const char *name)
{
    const struct run *run = ctx;
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        const char *path = run->tasks[i].status.workspace;
        if (path && strcmp(strrchr(path, '/') + 1, name) == 0)
            return true;
    }
    return false;
}

/* Reports folders among the workspaces that we did not make, and so did not delete. */
static void report_others(struct run *run)
{
    autofree char *folder = mem_printf("%s/%s", run->work.dir, run->id);
    autostrv struct strv others = {0};
    struct err err = {0};
    if (!run->base.name ||
        folder_record_list_others(run->pf->repo.common, folder, is_workspace, run, &others, &err))
        return;
    for (size_t i = 0; i < others.n && i < OTHERS_SHOWN; i++) {
        (void)err_set(&err, ERR_ENV, "'%s' is not a folder that we made, so it stays", others.v[i]);
        record_error(run, -1, &err);
    }
}

/* If no workspace is left, the record has nothing more to say: a file per task. */
static void forget_folders(struct run *run)
{
    autofree char *folder = mem_printf("%s/%s", run->work.dir, run->id);
    struct stat st;
    if (!run->base.name || lstat(folder, &st) == 0 || errno != ENOENT)
        return;
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (!run->tasks[i].status.workspace)
            folder_record_forget(run->files.dir, run->pf->plan.tasks[i].id);
    }
}

/* Records the end of the run; fails if that cannot be written. */
static int record_result(struct run *run, int rc, struct err *err)
{
    const char *state = run->turn.signal         ? "stopped"
                        : rc                     ? "broken"
                        : run_is_unfinished(run) ? "stopped"
                                                 : "finished";
    struct err why = {0};
    overlay_fill_settle(run);
    gc_hold_end(run);
    report_others(run);
    tidy_folders(run);
    forget_folders(run);
    if (rc == 0 && run_whole_result(run).exit_code == 0 && strcmp(state, "finished") == 0 &&
        run_folder_forget(run, &why))
        record_error(run, -1, &why);
    if (record_end(run, state, rc ? RUN_EXIT_BROKEN : run_whole_result(run).exit_code,
                   rc ? NULL : err))
        return -1;
    return rc;
}

static void report_preparations(struct run *run)
{
    report_store_notice(run);
    report_git_news(run);
    durable_tell(run);
    checkout_warning(run);
}

void run_preview(struct run *run)
{
    if (!run->base.name)
        return;
    repo_watch_peek(run);
    checkout_warning(run);
}

static void begin_work(struct run *run)
{
    budget_recall(run);
    run_watch_signals(run);
    run->listener = control_socket_open(run);
    run->audience.notifier = notifier_new(run);
    run->audience.stream_events = stream_events_new(run);
    if (run->resume) {
        logs_mask_all(run);
        resume_go(run);
    } else {
        record(run, EV_RUN_STARTED, -1, NULL);
        stream_events_begin(run->audience.stream_events);
    }
    report_preparations(run);
    gc_hold_begin(run);
    test_signing(run);
    run_wake(run);
}

/* rc is -1 if the loop failed. */
static int end_work(struct run *run, int rc, struct err *err)
{
    control_socket_close(steal_ptr(run->listener));
    run->finished = clock_wall();
    repo_watch_finish(run);
    report_unsigned(run);
    if (rc == 0 && run->base.name)
        rc = publish_finish(run, err);
    if (rc == 0 && run->engine->failed)
        rc = err_set(err, run->err.code, "%s", run->err.msg);
    stream_events_end(run->audience.stream_events, rc);
    return record_result(run, rc, err);
}

int run_go(struct run *run, struct err *err)
{
    if (start_run(run, err)) {
        remove_run_files(run);
        tidy_folders(run);
        return -1;
    }
    begin_work(run);
    int rc = end_work(run, loop_run(run->loop, err), err);
    run_finish(run);
    record_last_events(run);
    logs_discard(run);
    warden_dismiss(&run->guard.warden);
    return rc;
}
