#include "cli/commands.h"
#include "sys/guard.h"

#include <signal.h>
#include <stdlib.h>

struct guard_opts {
    int64_t signal, grace, memory, processes;
    const char *file, *cpu;
};

/* 127 is what shells say of a command that is not there. */
enum { NOT_STARTED = 127 };

static int run_guard(const void *options, int argc, char **argv)
{
    const struct guard_opts *opts = options;
    struct guard_options guard = {
        .stop_signal = opts->signal ? (int)opts->signal : SIGTERM,
        .grace = opts->grace,
        .limits = {.memory = opts->memory,
                   .processes = opts->processes,
                   .cpu = opts->cpu ? strtod(opts->cpu, NULL) : 0},
        .file = opts->file,
        .argv = argv,
    };
    struct err err = {0};
    (void)argc;
    return contain_wanted(&guard.contain, &err) || guard_run(&guard, &err)
               ? cli_fail((enum exit_code)NOT_STARTED, "%s", err.msg)
               : EXIT_OK;
}

static const struct opt opts_table[] = {
    {"signal", 0, OPT_COUNT, offsetof(struct guard_opts, signal), "NUMBER", NULL,
     "How the command is asked to end"},
    {"grace", 0, OPT_COUNT, offsetof(struct guard_opts, grace), "MS", NULL,
     "How long it may take to do so"},
    {"memory", 0, OPT_COUNT, offsetof(struct guard_opts, memory), "BYTES", NULL,
     "How much memory all of it may use"},
    {"processes", 0, OPT_COUNT, offsetof(struct guard_opts, processes), "N", NULL,
     "How many processes there may be of it"},
    {"cpu", 0, OPT_STRING, offsetof(struct guard_opts, cpu), "N", NULL,
     "How many processors it may use"},
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
