#include "run/prepare/pool.h"

#include "base/mem.h"
#include "git/format/index.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/prepare/delete_later.h"
#include "run/prepare/fill.h"
#include "run/prepare/prepare.h"
#include "run/process/process.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "sys/contain/mounts.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/fs/known_folder.h"
#include "sys/fs/remove.h"
#include "sys/own_fd.h"
#include "workspace/commit/stage.h"
#include "workspace/folder_record.h"
#include "workspace/reset.h"
#include "workspace/workspace_hold.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILLED STAGE_FILLED /* in the administrative folder: the index as git filled the tree */

/* In bytes: about 150 files. With less, a copy in memory is quicker
 * (workspace/fill/memory_fill.h). */
enum { INDEX_MIN = 16 << 10 };

static bool is_worth_keeping(const struct attempt *attempt, const char *index)
{
    enum provider provider = attempt->run->work.provider;
    struct stat st;
    return provider != PROVIDER_CHECKOUT &&
           (provider == PROVIDER_POOL || (stat(index, &st) == 0 && st.st_size > INDEX_MIN));
}

/* False if the tree has submodules, whose files nobody would clean, or entries that git ignores
 * and so would not repair. */
static bool has_only_plain_files(const char *path, size_t id_len)
{
    autogitindex struct git_index index;
    bool plain = git_index_open(&index, path, id_len, NULL) == 0;
    for (struct git_index_entry e; plain && git_index_next(&index, &e);)
        plain = !e.unseen && !e.unmerged && (S_ISREG(e.mode) || S_ISLNK(e.mode));
    return plain && index.good;
}

/* git never writes into an index but replaces it, so a hard link is enough. */
void pool_note(struct attempt *attempt)
{
    autofree char *index = mem_printf("%s/index", attempt->ws.admin);
    autofree char *filled = mem_printf("%s/" FILLED, attempt->ws.admin);
    if (is_worth_keeping(attempt, index) &&
        has_only_plain_files(index, strlen(attempt->run->base.start)))
        (void)!link(index, filled); /* if this fails, the tree is deleted later */
}

static bool has_room(const struct run *run)
{
    size_t unstarted = run->engine->sched.left > run->engine->attempts
                           ? run->engine->sched.left - run->engine->attempts
                           : 0;
    return run->work.pool.trees.n < run->engine->sched.workers &&
           run->work.pool.trees.n < unstarted;
}

bool pool_wants(const struct attempt *attempt)
{
    autofree char *filled = mem_printf("%s/" FILLED, attempt->ws.admin);
    return has_room(attempt->run) && access(filled, F_OK) == 0;
}

static void pool_tree_done(struct pool_tree *t)
{
    own_close(&t->fd);
    free(t->path);
    free(t->tree);
    work_scan_close(&t->found);
}

/* Moves what we know about the tree's changes into the pool's entry. */
static void take_scan(struct attempt *attempt, struct pool_tree *ret)
{
    struct git_place at = run_place(attempt->run);
    autobuf struct buf tree = BUF_INIT;
    struct err none = {0};
    if (git_tree_of(&at, task_run(attempt)->start, &tree, &none))
        return;
    ret->tree = buf_steal(&tree);
    ret->found = attempt->staged.scan;
    attempt->staged.scan = (struct work_scan){0};
    attempt->staged.scan_is_valid = false;
}

/* Replaces the tree's `.git` by the index. */
static bool move_index_into(const char *admin, int tree)
{
    autoclose int from = -1;
    struct err none = {0};
    return beneath_folder(admin, &from, &none) == 0 &&
           faccessat(from, FILLED, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
           remove_tree(tree, ".git", ".git", &none) == 0 &&
           file_move_at(from, FILLED, tree, ".git", &none) == 0;
}

bool pool_keep(struct attempt *attempt, const char *admin, const char *tree)
{
    struct run *run = attempt->run;
    struct workspace_hold *hold = attempt->ws.hold;
    autofree char *mounted = mount_below(tree); /* `git clean` would delete what it shows */
    if (!has_room(run) || !hold || hold->tree < 0 || mounted || !move_index_into(admin, hold->tree))
        return false;
    struct pool_tree t = {.path = mem_str(tree), .fd = steal_fd(&hold->tree), .id = hold->id};
    if (attempt_has_scan(attempt))
        take_scan(attempt, &t);
    vec_push(&run->work.pool.trees, t);
    return true;
}

bool pool_has(const struct run *run)
{
    return run->work.pool.trees.n > 0;
}

/* Replaces the workspace's tree, which has only its `.git`, by the pool's tree. */
static int install_tree(struct workspace *ws, const struct pool_tree *t, struct err *err)
{
    autoclose int admin = -1;
    return workspace_enter(ws, err) || workspace_open_admin(ws, &admin, err) ||
                   file_move_at(t->fd, ".git", admin, FILLED, err) ||
                   file_move_at(ws->hold->tree, ".git", t->fd, ".git", err) ||
                   workspace_replace(ws, t->path, &t->id, err)
               ? -1
               : 0;
}

static void delete_tree(struct run *run, const char *path, const struct file_id *id, uint32_t task)
{
    autofree char *tree = known_folder(path, id);
    autostrv struct strv trees = {0};
    struct err err = {0};
    strv_push(&trees, tree);
    if (delete_later(run, task, &trees, &err))
        record_error(run, task, &err);
}

/* The pool's tree cannot be used, for example because of read-only folders: git fills a new one. */
static int fill_new_tree(struct attempt *attempt, struct err *err)
{
    autofree char *gone = folder_new_name(attempt->ws.path, FOLDER_GONE);
    struct file_id id;
    if (workspace_move_tree(&attempt->ws, gone, &id, err))
        return -1;
    if (id.ino)
        delete_tree(attempt->run, gone, &id, attempt->task);
    return workspace_restore(&attempt->ws, err) || fill_by_git(attempt, err) ? -1 : 0;
}

/* Overrides settings of the user that would make git overlook changes. */
static int start_git(struct attempt *attempt, const char *const *args,
                     void (*next)(struct attempt *attempt, int exit_code), struct err *err)
{
    struct git_place at = workspace_place(&attempt->ws);
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-c", "core.trustctime=true", "-c", "core.checkStat=default", NULL);
    for (; *args; args++)
        strv_push(&argv, *args);
    return process_start(attempt, argv.v, env.v, NULL, log, next, err);
}

/* git reports nothing about a repository that somebody made around tracked files, and leaves it
 * there. So we check the tree ourselves. */
static bool is_clean(const struct attempt *attempt)
{
    struct git_place at = run_place(attempt->run);
    autofree char *index = mem_printf("%s/index", attempt->ws.admin);
    autobuf struct buf tree = BUF_INIT;
    autoworkscan struct work_scan scan = {0};
    struct err none = {0};
    return git_tree_of(&at, attempt->run->tasks[attempt->task].start, &tree, &none) == 0 &&
           work_scan_open(&scan, workspace_at(&attempt->ws), index, tree.s) && !scan.untracked.n;
}

static void on_cleaned(struct attempt *attempt, int exit_code)
{
    struct err err = {0};
    if (attempt->stopped || (exit_code == 0 && is_clean(attempt)))
        fill_by_git_done(attempt, exit_code);
    else if (fill_new_tree(attempt, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
}

static void on_reset(struct attempt *attempt, int exit_code)
{
    static const char *const clean[] = {"clean", "-ffdxq", NULL};
    struct err err = {0};
    if (exit_code != 0 || attempt->stopped)
        on_cleaned(attempt, exit_code);
    else if (start_git(attempt, clean, on_cleaned, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
}

/* Resets the tree without a process, if the task starts at the same tree and we know all
 * changes. */
static bool reset_without_git(struct attempt *attempt, const struct pool_tree *t)
{
    const struct workspace *ws = &attempt->ws;
    struct git_place at = run_place(attempt->run);
    autofree char *filled = mem_printf("%s/" FILLED, ws->admin);
    autofree char *index = mem_printf("%s/index", ws->admin);
    autobuf struct buf tree = BUF_INIT;
    struct err none = {0};
    if (!t->tree || git_tree_of(&at, task_run(attempt)->start, &tree, &none) ||
        strcmp(t->tree, tree.s) != 0)
        return false;
    struct workspace_reset_job reset_job = {.batch = attempt->run->batch,
                                            .work_tree = workspace_at(ws),
                                            .index = filled,
                                            .id_len = tree.len,
                                            .to = index};
    if (!workspace_reset(&reset_job, &t->found))
        return false;
    if (unlink(filled) == 0)
        (void)!link(index, filled); /* as in pool_note() */
    return true;
}

/* git resets the tree by the index with which it filled it. */
static int reset_by_git(struct attempt *attempt, struct err *err)
{
    static const char *const args[] = {"read-tree", "--reset", "-u", "HEAD", NULL};
    autofree char *filled = mem_printf("%s/" FILLED, attempt->ws.admin);
    autofree char *index = mem_printf("%s/index", attempt->ws.admin);
    if (rename(filled, index) < 0)
        return err_sys(err, "reuse '%s'", attempt->ws.path);
    return start_git(attempt, args, on_reset, err);
}

int pool_fill(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    own_cleanup(pool_tree_done) struct pool_tree t =
        run->work.pool.trees.v[--run->work.pool.trees.n];
    struct err why = {0};
    if (install_tree(&attempt->ws, &t, &why)) {
        delete_tree(run, t.path, &t.id, attempt->task);
        return fill_new_tree(attempt, err);
    }
    if (!reset_without_git(attempt, &t))
        return reset_by_git(attempt, err);
    prepare_filled(attempt, 0);
    return 0;
}

void do_empty_pool(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    autostrv struct strv paths = {0};
    struct err err = {0};
    for (size_t k = 0; k < run->work.pool.trees.n; k++) {
        const struct pool_tree *t = &run->work.pool.trees.v[k];
        autofree char *tree = known_folder(t->path, &t->id);
        strv_push(&paths, tree);
    }
    if (paths.n && delete_later(run, -1, &paths, &err))
        record_error(run, -1, &err);
    pool_done(run);
}

void pool_done(struct run *run)
{
    while (run->work.pool.trees.n)
        pool_tree_done(&run->work.pool.trees.v[--run->work.pool.trees.n]);
    vec_done(&run->work.pool.trees);
}
