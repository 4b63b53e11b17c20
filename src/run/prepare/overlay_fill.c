#include "run/prepare/overlay_fill.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/prepare/delete_later.h"
#include "run/prepare/fill.h"
#include "run/prepare/prepare.h"
#include "run/process/process.h"
#include "run/resume/decide.h"
#include "run/resume/resume_private.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/fs/btrfs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/folder_record.h"
#include "workspace/overlay/base_tree_update.h"
#include "workspace/overlay/layers.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/overlay/snapshot_fill.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 64 << 20 };

void overlay_fill_done(struct overlay_fill *l)
{
    base_tree_done(&l->base_tree);
    tracked_close(&l->tracked);
    base_tree_draft_done(&l->draft);
    for (size_t i = 0; i < l->holds.n; i++)
        layers_hold_done(&l->holds.v[i]);
    vec_done(&l->holds);
    for (size_t i = 0; i < l->indexes.n; i++)
        (void)unlink(l->indexes.v[i]); /* `clean` removes leftovers */
    strv_done(&l->indexes);
}

bool overlay_fill_is_used(const struct run *run)
{
    return (run->work.provider == PROVIDER_OVERLAY || run->work.provider == PROVIDER_SNAPSHOT) &&
           run->work.overlay.state != LAYERED_NEVER;
}

/* From now on git fills the workspaces, and the run continues. */
static void fall_back_to_git(struct run *run, const struct err *why)
{
    struct err err = {0};
    run->work.overlay.state = LAYERED_NEVER;
    (void)err_set(&err, ERR_ENV, "workspaces are filled by git: %s", why->msg);
    record_error(run, -1, &err);
}

/* A snapshot is used again when its task is over: files that are new to the kernel are expensive
 * to look at. */
static void on_filled(struct attempt *attempt, int exit_code)
{
    if (attempt->run->work.provider == PROVIDER_SNAPSHOT)
        fill_by_git_done(attempt, exit_code);
    else
        prepare_filled(attempt, exit_code);
}

/* Starts git, which writes the files that differ from the tree below. */
static int start_difference(struct attempt *attempt, struct err *err)
{
    struct git_place at = workspace_place(&attempt->ws);
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    git_prepare(&at, &argv, &env);
    /* git replaces included files that are in the way. */
    strv_pushl(&argv, "read-tree", "--reset", "-u", "HEAD", NULL);
    return process_start(attempt, argv.v, env.v, NULL, log, on_filled, err);
}

/* The workspace shows the files of the tree below: fills in the difference, if any. */
static int fill_difference(struct attempt *attempt, struct err *err)
{
    if (strcmp(task_run(attempt)->start, attempt->run->work.overlay.base_tree.commit) != 0)
        return start_difference(attempt, err);
    on_filled(attempt, 0);
    return 0;
}

static int fill_without_overlay(struct attempt *attempt, const struct err *why, struct err *err)
{
    fall_back_to_git(attempt->run, why);
    return fill_workspace(attempt, err);
}

/* Reads the error of the other process, without its program name. */
static void read_error(struct attempt *attempt, struct err *why)
{
    static const char prefix[] = "anabranch: ";
    autobuf struct buf output = BUF_INIT;
    attempt_read_tail(attempt, "prepare.log", &output);
    const char *message =
        strncmp(output.s, prefix, strlen(prefix)) == 0 ? output.s + strlen(prefix) : output.s;
    (void)err_set(why, ERR_ENV, "%.*s", (int)strcspn(message, "\n"), message);
}

static void on_snapshot(struct attempt *attempt, int exit_code)
{
    struct err why = {0}, err = {0};
    if (attempt->stopped) {
        prepare_filled(attempt, exit_code);
        return;
    }
    if (exit_code != 0)
        read_error(attempt, &why);
    bool made = exit_code == 0 &&
                snapshot_finish(&attempt->ws, &attempt->run->work.overlay.base_tree, &why) == 0;
    if (!made)
        snapshot_undo(&attempt->ws);
    if (made ? fill_difference(attempt, &err) : fill_without_overlay(attempt, &why, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
}

static int start_snapshot(struct attempt *attempt, struct err *err)
{
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0};
    strv_pushl(&argv, attempt->run->opts.self, "__snapshot", "--", NULL);
    if (snapshot_begin(&attempt->ws, &attempt->run->work.overlay.base_tree, &argv, err))
        return -1;
    return process_start(attempt, argv.v, NULL, attempt->run->pf->repo.root, log, on_snapshot, err);
}

static void stat_index(const struct attempt *attempt, struct stat *ret)
{
    autofree char *index = mem_printf("%s/index", attempt->ws.admin);
    if (stat(index, ret) < 0)
        *ret = (struct stat){0};
}

/* True if the index is still the copy that we made. A write right after the copy would leave the
 * same times. */
static bool is_index_untouched(const struct attempt *attempt, const char *index)
{
    struct stat st;
    return stat(index, &st) == 0 && st.st_nlink == 1 &&
           git_index_is_same(&st, &attempt->staged.index_stat) &&
           st.st_ctim.tv_sec == attempt->staged.index_stat.st_ctim.tv_sec &&
           st.st_ctim.tv_nsec == attempt->staged.index_stat.st_ctim.tv_nsec &&
           base_tree_is_index(&attempt->run->work.overlay.base_tree, index);
}

void overlay_fill_keep_index(const struct attempt *attempt, const char *admin)
{
    struct overlay_fill *l = &attempt->run->work.overlay;
    autofree char *index = mem_printf("%s/index", admin);
    if (!attempt->staged.index_stat.st_ino || !is_index_untouched(attempt, index))
        return;
    autofree char *kept = mem_printf("%s/tmp/%s-.index%zu", attempt->run->files.state,
                                     attempt->run->id, l->indexes_kept++);
    if (rename(index, kept) == 0)
        strv_push(&l->indexes, kept);
}

const struct tracked *overlay_fill_tracked(struct attempt *attempt)
{
    struct overlay_fill *l = &attempt->run->work.overlay;
    struct git_place at = run_place(attempt->run);
    autobuf struct buf tree = BUF_INIT;
    struct err none = {0};
    struct stat st;
    stat_index(attempt, &st);
    if (!layers_there(attempt->ws.path) || !l->base_tree.dir || !st.st_ino ||
        !git_index_is_same(&st, &attempt->staged.index_stat))
        return NULL;
    autofree char *index = base_tree_index(&l->base_tree);
    if (!l->tracked.paths.n) {
        tracked_close(&l->tracked);
        if (git_tree_of(&at, l->base_tree.commit, &tree, &none) ||
            !tracked_open(&l->tracked, index, tree.s))
            tracked_close(&l->tracked);
    }
    return l->tracked.paths.n ? &l->tracked : NULL;
}

static int start_include(struct attempt *attempt, struct err *err);
static void find_earlier_include(struct run *run);

static int make_overlay(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct err why = {0};
    if (run->work.provider == PROVIDER_SNAPSHOT)
        return start_snapshot(attempt, &why) ? fill_without_overlay(attempt, &why, err) : 0;
    if (!run->work.overlay.has_included && !run->work.overlay.includes_alone &&
        prepare_brings(run)) {
        find_earlier_include(run);
        if (!run->work.overlay.has_included && !run->work.overlay.includes_alone)
            return start_include(attempt, err);
    }
    autofree char *index = strv_pop(&run->work.overlay.indexes);
    if (layers_make(&attempt->ws, &run->work.overlay.base_tree, index, &why))
        return fill_without_overlay(attempt, &why, err);
    stat_index(attempt, &attempt->staged.index_stat);
    return fill_difference(attempt, err);
}

static void delete_left(struct run *run, const struct strv *left)
{
    struct err err = {0};
    if (left->n && delete_later(run, -1, left, &err))
        record_error(run, -1, &err);
}

static char *included_path(const struct run *run, const char *name)
{
    autofree char *folder = mem_printf("%s/%s", run->work.dir, run->id);
    autofree char *own = layers_brought(folder);
    return mem_printf("%s/%s", own, name);
}

/* Copies a list as if the attempt had included the files itself. If no files were found, there
 * is no list. */
static bool copy_list(const struct attempt *attempt, const char *name, const char *as)
{
    autofree char *from = included_path(attempt->run, name), *to = attempt_file(attempt, as);
    autobuf struct buf text = BUF_INIT;
    struct err none = {0};
    return access(from, F_OK) < 0 || (file_read(from, LIST_MAX, &text, &none) == 0 &&
                                      file_replace(to, text.s, text.len, &none) == 0);
}

bool overlay_fill_has_brought(const struct attempt *attempt)
{
    return attempt->run->work.overlay.has_included && layers_there(attempt->ws.path) &&
           copy_list(attempt, "excludes", "excludes") && copy_list(attempt, "brought", "brought") &&
           copy_list(attempt, "out", "bring.out");
}

/* Deletes shared folders that earlier runs kept and that nobody needs any more. */
static void delete_unused_shared(struct run *run)
{
    autofree char *path = included_path(run, "left");
    autobuf struct buf text = BUF_INIT;
    autostrv struct strv left = {0};
    struct err none = {0};
    if (access(path, F_OK) < 0 || file_read(path, LIST_MAX, &text, &none))
        return;
    for (const char *p = text.s; p < text.s + text.len; p += strlen(p) + 1)
        strv_push(&left, p);
    delete_left(run, &left);
}

/* If the shared include failed, each workspace includes the files itself and reports its own
 * error. */
static void on_included(struct attempt *attempt, int exit_code)
{
    struct run *run = attempt->run;
    autofree char *run_folder = mem_printf("%s/%s", run->work.dir, run->id);
    autofree char *folder = layers_brought(run_folder), *done = included_path(run, "done");
    struct err err = {0};
    run->work.overlay.state = LAYERED_READY;
    run->work.overlay.has_included = exit_code == 0 && file_create(done, "", 0, &err) == 0;
    run->work.overlay.includes_alone = !run->work.overlay.has_included && !attempt->stopped;
    delete_unused_shared(run);
    if (!run->work.overlay.has_included) /* no workspace uses it yet */
        (void)folder_record_drop(run->pf->repo.common, folder, true, &err);
    if (attempt->stopped)
        prepare_filled(attempt, exit_code);
    else if (make_overlay(attempt, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    fill_waiting(run);
}

/* Somebody may have deleted kept shared folders. */
static bool shared_folders_exist(const struct run *run)
{
    autofree char *list = included_path(run, "kept");
    autostrv struct strv trees = {0};
    struct err none = {0};
    bool all = shared_folders_trees(list, &trees, &none) == 0;
    for (size_t i = 0; all && i < trees.n; i++)
        all = access(trees.v[i], F_OK) == 0;
    return all;
}

/* An earlier session of the run may have included the files for all its workspaces: then we use
 * them. If it did not finish, some workspaces may show part of them, so each workspace includes
 * its own. */
static void find_earlier_include(struct run *run)
{
    autofree char *done = included_path(run, "done"), *tree = included_path(run, "tree");
    run->work.overlay.has_included = access(done, F_OK) == 0 && shared_folders_exist(run);
    run->work.overlay.includes_alone = !run->work.overlay.has_included && access(tree, F_OK) == 0;
}

static int start_include(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    autofree char *folder = mem_printf("%s/%s", run->work.dir, run->id);
    autofree char *own = layers_brought(folder);
    autofree char *tree = included_path(run, "tree"), *out = included_path(run, "out");
    autofree char *excludes = included_path(run, "excludes"), *list = included_path(run, "brought");
    autostrv struct strv argv = {0}, env = {0};
    if (folder_record_make(run->pf->repo.common, own, RECORD_INCLUDED, 0777, err) ||
        dirs_make_open(tree, err))
        return -1;
    prepare_bring_argv(run, tree, excludes, list, own, &argv);
    git_environment(&env);
    if (process_start(attempt, argv.v, env.v, run->pf->repo.root, out, on_included, err))
        return -1;
    run->work.overlay.state = LAYERED_MAKING;
    return 0;
}

static int start_base_tree(struct attempt *attempt, bool fresh, struct err *err);

/* Snapshots need a base tree that is a subvolume. */
static bool is_suitable(const struct run *run)
{
    autofree char *tree = base_tree_tree(&run->work.overlay.base_tree);
    return run->work.provider != PROVIDER_SNAPSHOT || btrfs_is(tree);
}

/* The base tree of an earlier session's workspaces is already held and was checked. */
static bool holds_base_tree(const struct run *run)
{
    const char *commit = run->work.overlay.base_tree.commit;
    return commit && strcmp(commit, run->base.start) == 0;
}

static int take_base_tree(struct run *run, bool made_now, bool *ret_there, struct err *err)
{
    struct git_place at = run_place(run);
    struct base_tree *p = &run->work.overlay.base_tree;
    *ret_there = holds_base_tree(run);
    if (!*ret_there) {
        base_tree_done(p);
        if (base_tree_take(p, &at, run->files.state, run->base.start, made_now, ret_there, err))
            return -1;
    }
    if (*ret_there && !is_suitable(run)) {
        base_tree_done(p);
        *ret_there = false;
    }
    return 0;
}

/* Publishes the tree that git has written. */
static int finish_base_tree(struct run *run, struct err *err)
{
    struct overlay_fill *l = &run->work.overlay;
    autostrv struct strv left = {0};
    bool there = false, fresh = !l->draft.from, ours;
    int rc = base_tree_finish(&l->draft, &ours, &left, err) ||
                     take_base_tree(run, fresh && ours, &there, err)
                 ? -1
                 : 0;
    delete_left(run, &left);
    if (rc)
        return -1;
    if (!there)
        return err_set(err, ERR_ENV,
                       "another run uses the base tree, or it contains more than files");
    l->state = LAYERED_READY;
    return 0;
}

/* Fills the workspace of the attempt that waited for git, in whatever way is possible now. */
static void on_base_tree_written(struct attempt *attempt, int exit_code)
{
    struct run *run = attempt->run;
    struct overlay_fill *l = &run->work.overlay;
    bool forward = l->draft.from, again = false;
    struct err why = {0}, err = {0};
    l->state = LAYERED_UNKNOWN;
    if (exit_code != 0)
        (void)err_set(&why, ERR_ENV, "git could not write the base tree");
    if (attempt->stopped) {
        base_tree_draft_done(&l->draft);
    } else if (exit_code != 0 || finish_base_tree(run, &why)) {
        base_tree_draft_done(&l->draft);
        again = forward && start_base_tree(attempt, true, &err) == 0;
        if (!again)
            fall_back_to_git(run, &why);
    }
    if (again)
        return;
    if (attempt->stopped)
        prepare_filled(attempt, exit_code);
    else if (fill_workspace(attempt, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    fill_waiting(run);
}

/* Updates the base tree here: git would go through all files, and we touch only those that
 * differ. */
static bool update_base_tree(const struct run *run)
{
    autofree char *attributes = mem_printf("%s/info/attributes", run->pf->repo.common);
    return run->work.overlay.draft.from && run->pf->repo.core.plain &&
           access(attributes, F_OK) < 0 && base_tree_update(&run->work.overlay.draft, run->batch);
}

/* If others use the base tree of another commit, writes the difference into a layer over it. */
static bool make_delta(struct run *run)
{
    struct overlay_fill *l = &run->work.overlay;
    struct base_tree_draft full = l->draft, delta;
    if (run->work.provider != PROVIDER_OVERLAY || full.from ||
        !base_tree_begin_delta(&delta, run->files.state, run->base.start))
        return false;
    l->draft = delta;
    bool done = update_base_tree(run);
    base_tree_draft_done(done ? &full : &l->draft);
    if (!done)
        l->draft = full;
    return done;
}

static int start_git_for_base_tree(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct git_place at = run_place(run);
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    base_tree_fill(&run->work.overlay.draft, &at, &argv, &env);
    if (process_start(attempt, argv.v, env.v, run->pf->repo.common, log, on_base_tree_written,
                      err)) {
        base_tree_draft_done(&run->work.overlay.draft);
        return -1;
    }
    run->work.overlay.state = LAYERED_MAKING;
    return 0;
}

static int start_base_tree(struct attempt *attempt, bool fresh, struct err *err)
{
    struct run *run = attempt->run;
    struct overlay_fill *l = &run->work.overlay;
    autostrv struct strv left = {0};
    struct err why = {0};
    int rc = base_tree_begin(&l->draft, run->files.state, run->base.start, fresh, &left, err);
    delete_left(run, &left);
    if (rc)
        return -1;
    if (fresh || (!update_base_tree(run) && !make_delta(run)))
        return start_git_for_base_tree(attempt, err);
    if (finish_base_tree(run, &why) == 0)
        return fill_workspace(attempt, err);
    base_tree_draft_done(&l->draft);
    return start_base_tree(attempt, true, err);
}

int overlay_fill_fill(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct overlay_fill *l = &run->work.overlay;
    struct err why = {0};
    bool there = false;
    if (l->state == LAYERED_MAKING) {
        vec_push(&run->work.fill.waiting, attempt);
        return 0;
    }
    if (l->state == LAYERED_READY)
        return make_overlay(attempt, err);
    if (take_base_tree(run, false, &there, &why) == 0 && there) {
        l->state = LAYERED_READY;
        return make_overlay(attempt, err);
    }
    if (!why.msg[0] && start_base_tree(attempt, false, &why) == 0)
        return 0;
    fall_back_to_git(run, &why);
    return fill_workspace(attempt, err);
}

int overlay_fill_see_past(struct run *run, struct err *err)
{
    const struct evidence *past = &run->resume->past;
    if (!run->base.name)
        return 0;
    for (size_t i = 0; i < past->n; i++) {
        struct workspace ws;
        struct layers_hold hold;
        resume_workspace(run, past->tasks[i].row.id, &past->tasks[i], &ws);
        int rc =
            layers_take(ws.path, run->pf->repo.common, &run->work.overlay.base_tree, &hold, err);
        workspace_done(&ws);
        if (rc)
            return -1;
        vec_push(&run->work.overlay.holds, hold);
    }
    return 0;
}

static bool has_ended(enum task_state state)
{
    return state >= TASK_LANDED;
}

void overlay_fill_settle(struct run *run)
{
    autofree char *folder = mem_printf("%s/%s", run->work.dir, run->id);
    struct err none = {0};
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        const struct task_run *tr = &run->tasks[i];
        const char *path = tr->status.workspace;
        struct err err = {0};
        if (!path || !has_ended(tr->life->state) || !layers_there(path))
            continue;
        struct workspace ws;
        workspace_adopt(&ws, &run->pf->repo, path, path, tr->branch, NULL);
        if (layers_materialise(&ws, &err))
            record_error(run, (int64_t)i, &err);
        else
            workspace_release(&ws);
        workspace_done(&ws);
    }
    (void)layers_tidy(folder, run->pf->repo.common, &none); /* `clean` removes leftovers */
    for (size_t i = 0; i < run->work.overlay.holds.n; i++)
        own_close(&run->work.overlay.holds.v[i].kept); /* our own hold would block the deletion */
    shared_folders_tidy(run->files.state);
}
