#include "base/own.h"
#include "cli/frame/commands.h"
#include "cli/show/enter_workspace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* We change to our folder again by its name, because inside the workspace that name may lead to
 * another folder. */
static int reenter_folder(const char *cwd)
{
    return chdir(cwd) == 0 ? EXIT_OK : cli_fail(EXIT_ENV, "'%s': %s", cwd, strerror(errno));
}

static int run_inside(const void *options, char **argv)
{
    autofree char *cwd = getcwd(NULL, 0);
    int code = enter_workspace(argv[1], argv[0]);
    (void)options;
    if (code == EXIT_OK && cwd)
        code = reenter_folder(cwd);
    if (code != EXIT_OK)
        return code;
    (void)execvp(argv[2], argv + 2);
    return cli_fail(EXIT_ENV, "cannot run '%s': %s", argv[2], strerror(errno));
}

static const struct arg args[] = {
    {.name = "REPOSITORY", .help = "The git folder that all worktrees share"},
    {.name = "WORKSPACE", .help = "The workspace's path"},
    {.name = "COMMAND", .help = "The command, and its arguments", .repeatable = true},
    {0},
};

const struct command cmd_inside = {
    .name = "__inside",
    .summary = "Run a command that sees the files of a workspace",
    .args = args,
    .hidden = true,
    .run = run_inside,
};
