#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "cli/show/enter_workspace.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* We set none of the run's variables: the shell belongs to the user, and must not end with the
 * task. */
static int exec_command(char **argv)
{
    (void)execvp(argv[0], argv);
    return cli_fail(EXIT_ENV, "cannot run '%s': %s", argv[0], strerror(errno));
}

/* An agent may have put something else in the place of the workspace. */
static int change_folder(const struct lookup *look, const struct report_task *t)
{
    own_cleanup(workspace_done) struct workspace ws;
    struct err err = {0};
    workspace_adopt(&ws, &look->repo, t->row.workspace, NULL, t->row.branch ? t->row.branch : "",
                    NULL);
    if (workspace_enter(&ws, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return fchdir(ws.hold->tree) < 0 ? cli_fail(EXIT_ENV, "'%s': %s", ws.path, strerror(errno))
                                     : EXIT_OK;
}

static int enter_task_workspace(const struct lookup *look, const struct report_task *t)
{
    const char *path = t->row.workspace, *id = t->row.id;
    if (path && look->repo.root && enter_workspace(path, look->repo.common) != EXIT_OK)
        return EXIT_ENV;
    if (path && look->repo.root && access(path, F_OK) == 0)
        return change_folder(look, t);
    return cli_fail(EXIT_USAGE,
                    "task '%s' has no workspace now; 'anabranch diff %s' shows its changes, and "
                    "'anabranch salvage' shows its saved work",
                    id, id);
}

static int run_shell(const void *options, char **argv)
{
    const struct lookup_opts *opts = options;
    autolook struct lookup look;
    autoreport struct report r = {0};
    const struct report_task *t;
    const char *own = getenv("SHELL");
    char *shell[] = {(char *)(own && *own ? own : "/bin/sh"), NULL};
    int code = lookup_open_task(&look, opts->run, argv[0], &r, &t);
    if (code == EXIT_OK)
        code = enter_task_workspace(&look, t);
    return code == EXIT_OK ? exec_command(argv[1] ? argv + 1 : shell) : code;
}

static const struct arg args[] = {
    {.name = "TASK", .help = "The task's id"},
    {.name = "COMMAND",
     .help = "The command to run, with its arguments after '--' (default: $SHELL)",
     .optional = true,
     .repeatable = true},
    {0},
};

const struct command cmd_shell = {
    .name = "shell",
    .summary = "Open a shell in a task's workspace",
    .about =
        "A task has a workspace while its agent works, while it waits for a limit, and if it "
        "was left for a person: in conflict, or kept with --keep. If you change files while the "
        "agent works, the agent's commit includes them. The exit code is that of the shell or "
        "the command.",
    .examples = "anabranch shell auth\tOpen a shell in the workspace of the task auth\n"
                "anabranch shell auth -- git status\tRun a command there\n",
    .args = args,
    .opts = lookup_opts_table,
    .options_size = sizeof(struct lookup_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-diff(1), anabranch-salvage(1)",
    .run = run_shell,
};
