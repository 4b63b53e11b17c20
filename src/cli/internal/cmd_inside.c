#include "base/own.h"
#include "cli/frame/commands.h"
#include "cli/show/enter_workspace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The folder that we were started in is looked up again, by its name: what is there may be another
 * one inside. */
static int go_back(const char *cwd)
{
    return chdir(cwd) == 0 ? EXIT_OK : cli_fail(EXIT_ENV, "'%s': %s", cwd, strerror(errno));
}

static int run_inside(const void *options, int argc, char **argv)
{
    autofree char *cwd = getcwd(NULL, 0);
    int code = enter_workspace(argv[1], argv[0]);
    (void)options, (void)argc;
    if (code == EXIT_OK && cwd)
        code = go_back(cwd);
    if (code != EXIT_OK)
        return code;
    (void)execvp(argv[2], argv + 2);
    return cli_fail(EXIT_ENV, "'%s' could not be run: %s", argv[2], strerror(errno));
}

static const struct arg args[] = {
    {.name = "REPOSITORY", .help = "Its folder that all worktrees share"},
    {.name = "WORKSPACE", .help = "The workspace's path"},
    {.name = "COMMAND", .help = "What to run, and its arguments", .repeatable = true},
    {0},
};

const struct command cmd_inside = {
    .name = "__inside",
    .summary = "Run a command that sees what is in a workspace",
    .args = args,
    .hidden = true,
    .run = run_inside,
};
