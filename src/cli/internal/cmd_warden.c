#include "cli/frame/commands.h"
#include "sys/guard/warden.h"

static int run_warden(const void *options, char **argv)
{
    struct err err = {0};
    (void)options;
    return warden_watch(argv[0], &err) ? cli_fail(EXIT_ENV, "%s", err.msg) : EXIT_OK;
}

static const struct arg args[] = {
    {.name = "RUN", .help = "Its id"},
    {0},
};

const struct command cmd_warden = {
    .name = "__warden",
    .summary = "End the leftover processes of a run after its engine has died",
    .args = args,
    .hidden = true,
    .run = run_warden,
};
