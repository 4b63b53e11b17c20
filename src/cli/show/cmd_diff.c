#include "base/mem.h"
#include "cli/common/git_exec.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "cli/show/enter_workspace.h"
#include "git/format/gitlinks.h"
#include "git/state_paths.h"
#include "sys/fs/file.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_MAX = 1 << 30 };

struct diff_opts {
    const char *run;
    bool stat;
};

/* Finds the commit of the task or, if it failed before, the saved work of its last attempt. */
static int find_end(const struct lookup *look, const struct report_task *t, struct buf *ret)
{
    struct git_place at = {.git_dir = look->repo.common};
    struct err err = {0};
    autofree char *salvage = salvage_ref_name(t->row.run, t->row.id, t->row.attempts);
    if (!t->row.start_commit)
        return cli_fail(EXIT_USAGE, "task '%s' has not started", t->row.id);
    if (git_resolve(&at, t->row.commit ? t->row.commit : salvage, ret, &err) == 0)
        return EXIT_OK;
    if (err.code != ERR_INPUT)
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (t->row.commit)
        return cli_fail(EXIT_ENV, "commit %s of task '%s' is no longer in the repository",
                        t->row.commit, t->row.id);
    return cli_fail(EXIT_USAGE, "task '%s' has changed nothing", t->row.id);
}

static void add_diff_args(struct strv *args, bool stat)
{
    strv_push(args, "diff");
    if (stat)
        strv_push(args, "--stat");
}

static int run_diff_between(const struct lookup *look, const char *from, const char *to, bool stat)
{
    autostrv struct strv args = {0};
    add_diff_args(&args, stat);
    strv_pushl(&args, "--end-of-options", from, to, "--", NULL);
    return git_exec(&look->repo, &args, NULL);
}

static bool has_live_workspace(const struct report_task *t)
{
    static const char *const states[] = {"running", "committing", "verifying",
                                         "landing", "waiting",    "interrupted"};
    bool at_work = false;
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        at_work |= strcmp(t->row.state, states[i]) == 0;
    return at_work && t->row.workspace && t->row.start_commit &&
           access(t->row.workspace, F_OK) == 0;
}

static int add_intent(const struct git_place *at, size_t id_len, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "add", "--intent-to-add", "--", ".", NULL);
    if (gitlinks_exclude(at, id_len, &args, err) || git_try(at, &args, NULL, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git add: %s", errout.s) : 0;
}

/* Copies the agent's index and adds all new files to it, except included files. The copy is already
 * unlinked, so that it disappears with us. Returns its descriptor. */
static int name_new_files(const struct lookup *look, const struct report_task *t,
                          const struct workspace *ws, struct err *err)
{
    struct git_place at = workspace_place(ws);
    autofree char *agent_index = mem_printf("%s/index", ws->admin);
    autofree char *own_index = mem_printf("%s/tmp/diff.%d", look->state_dir, (int)getpid());
    autofree char *dir = run_path(look->state_dir, t->row.run);
    autofree char *excludes = attempt_file_path(dir, t->row.id, t->row.attempts, "excludes");
    autobuf struct buf bytes = BUF_INIT;
    at.index = own_index;
    at.excludes = access(excludes, F_OK) == 0 ? excludes : NULL;
    if (file_read(agent_index, INDEX_MAX, &bytes, err) ||
        file_create(own_index, bytes.s, bytes.len, err))
        return -1;
    int rc = add_intent(&at, strlen(t->row.start_commit), err);
    int fd = rc ? -1 : open(own_index, O_RDONLY); /* git inherits it, so it has no O_CLOEXEC */
    if (rc == 0 && fd < 0)
        (void)err_sys(err, "open '%s'", own_index);
    (void)unlink(own_index);
    return fd;
}

static int show_workspace(const struct lookup *look, const struct report_task *t, bool stat)
{
    own_cleanup(workspace_done) struct workspace ws;
    autostrv struct strv args = {0};
    struct err err = {0};
    workspace_adopt(&ws, &look->repo, t->row.workspace, NULL, t->row.branch ? t->row.branch : "",
                    NULL);
    if (enter_workspace(ws.path, look->repo.common) != EXIT_OK)
        return EXIT_ENV;
    if (workspace_enter(&ws, &err)) /* an agent may have put something else in its place */
        return cli_fail(EXIT_ENV, "%s", err.msg);
    int fd = name_new_files(look, t, &ws, &err);
    if (fd < 0)
        return cli_fail(EXIT_ENV, "%s", err.msg);
    autofree char *index = mem_printf("/dev/fd/%d", fd);
    strv_pushl(&args, "--no-optional-locks", "-c", "core.fsmonitor=false", NULL);
    strv_pushf(&args, "--git-dir=%s", ws.admin);
    strv_pushl(&args, "--work-tree=.", NULL);
    add_diff_args(&args, stat);
    strv_pushl(&args, "--ignore-submodules=dirty", "--end-of-options", t->row.start_commit, "--",
               NULL);
    return fchdir(ws.hold->tree) < 0 ? cli_fail(EXIT_ENV, "'%s': %s", ws.path, strerror(errno))
                                     : git_exec(&look->repo, &args, index);
}

static int run_diff(const void *options, char **argv)
{
    const struct diff_opts *opts = options;
    autolook struct lookup look;
    autoreport struct report r = {0};
    autobuf struct buf end = BUF_INIT;
    const struct report_task *t;
    int code = lookup_open(&look);
    if (code == EXIT_OK && !look.repo.root)
        code = cli_fail(EXIT_ENV, "this is not a git repository");
    if (code == EXIT_OK)
        code = lookup_run(&look, opts->run, &r);
    if (code == EXIT_OK)
        code = lookup_task(&r, argv[0], &t);
    if (code == EXIT_OK && has_live_workspace(t))
        return show_workspace(&look, t, opts->stat);
    if (code == EXIT_OK)
        code = find_end(&look, t, &end);
    return code == EXIT_OK ? run_diff_between(&look, t->row.start_commit, end.s, opts->stat) : code;
}

static const struct opt opts_table[] = {
    LOOKUP_RUN_OPT(struct diff_opts),
    {"stat", 0, OPT_FLAG, offsetof(struct diff_opts, stat), NULL, NULL,
     "Show only the changed files, and the size of each change"},
    {0},
};

const struct command cmd_diff = {
    .name = "diff",
    .summary = "Show the changes of a task",
    .about =
        "Shows the difference between the commit that the task started from and the commit that "
        "it made, with git and your git configuration. For a running task it shows the present "
        "content of its workspace. For a task that failed before it made a commit, it shows the "
        "saved work of its last attempt.",
    .examples = "anabranch diff auth\tShow the changes of the task auth in the newest run\n"
                "anabranch diff --stat --run 20260301 auth\tShow a summary, from another run\n",
    .args = lookup_task_args,
    .opts = opts_table,
    .options_size = sizeof(struct diff_opts),
    .exits = cli_usual_exits,
    .see_also = "git-diff(1)",
    .run = run_diff,
};
