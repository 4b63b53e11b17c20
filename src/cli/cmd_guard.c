#include "cli/commands.h"
#include "sys/guard.h"

#include <signal.h>

struct guard_opts {
    int64_t signal, grace;
    const char *file;
};

/* 127 is what shells say of a command that is not there. */
enum { NOT_STARTED = 127 };

static int run_guard(const void *options, int argc, char **argv)
{
    const struct guard_opts *opts = options;
    struct guard_options guard = {
        .stop_signal = opts->signal ? (int)opts->signal : SIGTERM,
        .grace = opts->grace,
        .file = opts->file,
        .argv = argv,
    };
    struct err err = {0};
    (void)argc;
    return guard_run(&guard, &err) ? cli_fail((enum exit_code)NOT_STARTED, "%s", err.msg) : EXIT_OK;
}

static const struct opt opts_table[] = {
    {"signal", 0, OPT_COUNT, offsetof(struct guard_opts, signal), "NUMBER", NULL,
     "How the command is asked to end"},
    {"grace", 0, OPT_COUNT, offsetof(struct guard_opts, grace), "MS", NULL,
     "How long it may take to do so"},
    {"file", 0, OPT_STRING, offsetof(struct guard_opts, file), "PATH", NULL,
     "Where to say who guards it, under a lock"},
    {0},
};

static const struct arg args[] = {
    {.name = "COMMAND", .help = "The command and its arguments", .many = true},
    {0},
};

const struct command cmd_guard = {
    .name = "__guard",
    .summary = "Run a command and end all that it leaves behind",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct guard_opts),
    .hidden = true,
    .run = run_guard,
};
