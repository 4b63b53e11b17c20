#include "cli/frame/commands.h"
#include "workspace/fill/copy_fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces this program with git, which fills in the rest. */
static int fill_rest(const struct workspace *ws)
{
    autostrv struct strv argv = {0}, env = {0};
    workspace_fill(ws, &argv, &env);
    (void)execvpe(argv.v[0], argv.v, env.v);
    return cli_fail(EXIT_ENV, "cannot run git: %s", strerror(errno));
}

static int run_fill(const void *options, char **argv)
{
    struct workspace ws = {.common = argv[0], .admin = argv[1], .path = argv[2]};
    struct copy_fill job = {
        .from = argv[3], .index = argv[4], .to = &ws, .id_len = strtoul(argv[5], NULL, 10)};
    struct err err = {0};
    bool whole;
    (void)options;
    if (copy_fill(&job, &whole, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return whole ? EXIT_OK : fill_rest(&ws);
}

static const struct arg args[] = {
    {.name = "REPOSITORY", .help = "The git folder that all worktrees share"},
    {.name = "ADMIN", .help = "The workspace's administrative folder"},
    {.name = "WORKSPACE", .help = "The workspace's path"},
    {.name = "FROM", .help = "A work tree of the repository, to copy from"},
    {.name = "INDEX", .help = "Its index"},
    {.name = "DIGITS", .help = "The length of object ids"},
    {0},
};

const struct command cmd_fill = {
    .name = "__fill",
    .summary = "Fill a workspace with copies of the files of another work tree",
    .args = args,
    .hidden = true,
    .run = run_fill,
};
