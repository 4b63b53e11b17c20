#include "cli/commands.h"
#include "sys/dirs.h"

static int run_remove(const void *options, int argc, char **argv)
{
    struct err err = {0};
    int code = EXIT_OK;
    (void)options;
    for (int i = 0; i < argc; i++) {
        if (dirs_remove(argv[i], &err))
            code = cli_fail(EXIT_ENV, "%s", err.msg);
    }
    return code;
}

static const struct arg args[] = {
    {.name = "PATH", .help = "File, or folder with all that is in it", .many = true},
    {0},
};

const struct command cmd_remove = {
    .name = "__remove",
    .summary = "Delete workspaces that are out of use",
    .args = args,
    .hidden = true,
    .run = run_remove,
};
