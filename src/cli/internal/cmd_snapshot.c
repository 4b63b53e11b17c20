#include "cli/frame/commands.h"
#include "sys/fs/btrfs.h"

static int run_snapshot(const void *options, char **argv)
{
    struct err err = {0};
    (void)options;
    return btrfs_snapshot(argv[0], argv[1], &err) ? cli_fail(EXIT_ENV, "%s", err.msg) : EXIT_OK;
}

static const struct arg args[] = {
    {.name = "TREE", .help = "A subvolume"},
    {.name = "PATH", .help = "The path of the new copy"},
    {0},
};

const struct command cmd_snapshot = {
    .name = "__snapshot",
    .summary = "Make a snapshot of the base tree",
    .args = args,
    .hidden = true,
    .run = run_snapshot,
};
