#include "cli/frame/commands.h"
#include "cli/frame/help.h"

static int run_help(const void *options, char **argv)
{
    (void)options;
    const struct command *cmd = argv[0] ? cli_find(argv[0]) : NULL;
    return argv[0] && !cmd ? help_topic(argv[0]) : cli_help(cmd);
}

static const struct arg args[] = {
    {.name = "COMMAND",
     .help = "The command to explain, or exit-codes (default: list all commands)",
     .optional = true,
     .command = true},
    {0},
};

const struct command cmd_help = {
    .name = "help",
    .summary = "Explain a command, or list them all",
    .examples = "anabranch help check\tExplain check, with all of its options\n"
                "anabranch help exit-codes\tExplain the exit codes, for scripts\n",
    .args = args,
    .run = run_help,
};
