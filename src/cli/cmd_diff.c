#include "base/mem.h"
#include "cli/commands.h"
#include "cli/git_exec.h"
#include "cli/look.h"

struct diff_opts {
    const char *run;
    bool stat;
};

/* What the task committed; or, where it failed before, what was saved of its last attempt. */
static int find_end(const struct look *look, const struct report_task *t, struct buf *ret)
{
    struct git_place at = {.git_dir = look->repo.common};
    struct err err = {0};
    autofree char *salvage =
        mem_printf("refs/anabranch/salvage/%s/%s/%d", t->row.run, t->row.id, t->row.attempts);
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

static int show(const char *from, const char *to, bool stat)
{
    autostrv struct strv args = {0};
    strv_push(&args, "diff");
    if (stat)
        strv_push(&args, "--stat");
    strv_pushl(&args, "--end-of-options", from, to, "--", NULL);
    return git_exec(&args);
}

static int run_diff(const void *options, int argc, char **argv)
{
    const struct diff_opts *opts = options;
    (void)argc;
    autolook struct look look;
    autoreport struct report r = {0};
    autobuf struct buf end = BUF_INIT;
    const struct report_task *t;
    int code = look_open(&look);
    if (code == EXIT_OK && !look.repo.root)
        code = cli_fail(EXIT_ENV, "this is not a git repository");
    if (code == EXIT_OK)
        code = look_run(&look, opts->run, &r);
    if (code == EXIT_OK)
        code = look_task(&r, argv[0], &t);
    if (code == EXIT_OK)
        code = find_end(&look, t, &end);
    return code == EXIT_OK ? show(t->row.start_commit, end.s, opts->stat) : code;
}

static const struct opt opts_table[] = {
    {"run", 0, OPT_STRING, offsetof(struct diff_opts, run), "RUN", NULL,
     "Of this run: its id, the beginning of it, or 'last', which it is without this option"},
    {"stat", 0, OPT_FLAG, offsetof(struct diff_opts, stat), NULL, NULL,
     "Show only which files were changed, and how much"},
    {0},
};

static const struct arg args[] = {
    {.name = "TASK", .help = "The task's id"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_diff = {
    .name = "diff",
    .summary = "Show what a task has changed",
    .about = "Shows the difference between the commit that the task started from and the one that "
             "it made, with git and as git is set up. Of a task that failed before it made one, "
             "what was saved of its last attempt is shown.",
    .examples = "anabranch diff auth\tWhat the task auth of the newest run did\n"
                "anabranch diff --stat --run 20260301 auth\tThe same of another one, in short\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct diff_opts),
    .exits = exits,
    .see_also = "git-diff(1)",
    .run = run_diff,
};
