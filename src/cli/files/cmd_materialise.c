#include "base/mem.h"
#include "clean/leftovers.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "cli/show/enter_workspace.h"
#include "git/state_paths.h"
#include "run/watch/other_runs.h"
#include "sys/fs/beneath.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace_hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK_MAX = 1 << 16, INDEX_MAX = 1 << 30 };

static int add_worktree(const struct lookup *look, const char *dir, const char *commit,
                        struct err *err)
{
    struct git_place at = {.git_dir = look->repo.common};
    return git_call(&at, NULL, err, "worktree", "add", "--quiet", "--no-checkout", "--detach", "--",
                    dir, commit, NULL);
}

/* Removes an incomplete worktree. git recognizes it by the link in its .git file, so we restore
 * that first. */
static void remove_worktree(const struct lookup *look, const char *dir, const struct buf *link)
{
    struct git_place at = {.git_dir = look->repo.common};
    autofree char *path = mem_printf("%s/.git", dir);
    struct err none = {0};
    if (link->len)
        (void)file_replace(path, link->s, link->len, &none);
    (void)git_call(&at, NULL, &none, "worktree", "remove", "--force", "--", dir, NULL);
    autofree char *real = beneath_real(dir);
    (void)dirs_remove(real, &none);
}

/* Finds the administrative folder of the new worktree, in its .git file. */
static int read_admin_folder(const char *dir, struct buf *link, char **ret_admin, struct err *err)
{
    autofree char *path = mem_printf("%s/.git", dir);
    if (file_read(path, LINK_MAX, link, err))
        return -1;
    const char *admin = link->s + strlen("gitdir: ");
    *ret_admin = mem_dup(admin, strcspn(admin, "\n"));
    return 0;
}

/* Copies the workspace over the new worktree, then restores the link of the new one. */
static int copy_files(const struct workspace *ws, const char *dir, const struct buf *link,
                      struct err *err)
{
    autofree char *path = mem_printf("%s/.git", dir), *to = realpath(dir, NULL);
    if (!to)
        return err_sys(err, "open '%s'", dir);
    return layers_copy(ws, to, err) || file_replace(path, link->s, link->len, err) ? -1 : 0;
}

static int copy_index(const struct workspace *ws, const char *admin, struct err *err)
{
    autofree char *from = mem_printf("%s/index", ws->admin), *to = mem_printf("%s/index", admin);
    autobuf struct buf bytes = BUF_INIT;
    return file_read(from, INDEX_MAX, &bytes, err) || file_replace(to, bytes.s, bytes.len, err) ? -1
                                                                                                : 0;
}

static int copy_workspace(const struct lookup *look, const struct workspace *ws, const char *dir,
                          struct err *err)
{
    autobuf struct buf head = BUF_INIT, link = BUF_INIT;
    autofree char *admin = NULL;
    struct stat st;
    if (lstat(dir, &st) == 0)
        return err_set(err, ERR_INPUT, "'%s' exists already", dir);
    if (workspace_head(ws, &head, err) ||
        other_runs_note(look->store, look->state_dir, dir, NULL, err) ||
        add_worktree(look, dir, head.s, err))
        return -1;
    if (read_admin_folder(dir, &link, &admin, err) == 0 && copy_files(ws, dir, &link, err) == 0 &&
        copy_index(ws, admin, err) == 0)
        return 0;
    remove_worktree(look, dir, &link);
    return -1;
}

/* While we hold the lock, nobody can resume or clean the run. */
static int lock_run(const struct lookup *look, const struct report_task *t, int *ret_lock,
                    struct err *err)
{
    autofree char *path = run_file_path(look->state_dir, t->row.run, RUN_LOCK);
    if (dirs_try_lock(path, ret_lock, err))
        return -1;
    return *ret_lock < 0 ? err_set(err, ERR_ENV,
                                   "run %s is running, or is being resumed or cleaned", t->row.run)
                         : 0;
}

static int convert_workspace(struct workspace *ws, struct err *err)
{
    if (layers_materialise(ws, err))
        return -1;
    workspace_release(ws);
    return 0;
}

static int materialise_task(const struct lookup *look, const struct report_task *t, const char *dir)
{
    own_cleanup(workspace_done) struct workspace ws = {0};
    struct err err = {0};
    workspace_adopt(&ws, &look->repo, t->row.workspace, NULL, t->row.branch ? t->row.branch : "",
                    NULL);
    if (!dir && layers_are_in_use(ws.path))
        return cli_fail(EXIT_USAGE,
                        "task '%s' is working in it: 'anabranch materialise %s DIR' copies it",
                        t->row.id, t->row.id);
    autoclose int lock = -1;
    if (!dir && lock_run(look, t, &lock, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (enter_workspace(ws.path, look->repo.common) != EXIT_OK)
        return EXIT_ENV;
    if (workspace_enter(&ws, &err)) /* an agent may have put something else in its place */
        return cli_fail_by(&err);
    if (dir ? copy_workspace(look, &ws, dir, &err) : convert_workspace(&ws, &err))
        return cli_fail_by(&err);
    return printf("%s\n", dir ? dir : ws.path) < 0 ? EXIT_ENV : EXIT_OK;
}

static int run_materialise(const void *options, char **argv)
{
    const struct lookup_opts *opts = options;
    autolook struct lookup look;
    autoreport struct report r = {0};
    const struct report_task *t;
    int code = lookup_open_task(&look, opts->run, argv[0], &r, &t);
    if (code == EXIT_OK && (!t->row.workspace || !look.repo.root))
        code = cli_fail(EXIT_USAGE, "task '%s' has no workspace now", argv[0]);
    return code == EXIT_OK ? materialise_task(&look, t, argv[1]) : code;
}

static const struct arg args[] = {
    {.name = "TASK", .help = "The task's id"},
    {.name = "DIR",
     .help = "A new folder: make a worktree with the same content there",
     .optional = true},
    {0},
};

const struct command cmd_materialise = {
    .name = "materialise",
    .summary = "Turn a task's workspace into an ordinary worktree",
    .about =
        "If workspaces are overlays (workspace.provider), only the run itself and programs that "
        "'anabranch shell' starts see their files. A workspace that stays for a person becomes "
        "an ordinary worktree when the run ends. This command does that for a run that was "
        "killed. With DIR, it makes a worktree beside the workspace, even while an agent works "
        "in it: with the same files, the same index, and the same commit checked out, detached.",
    .examples = "anabranch materialise auth\tConvert the workspace of a killed run\n"
                "anabranch materialise auth ../auth-now\tCopy its present content\n",
    .args = args,
    .opts = lookup_opts_table,
    .options_size = sizeof(struct lookup_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-shell(1), anabranch-diff(1)",
    .run = run_materialise,
};
