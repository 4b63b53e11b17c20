#include "base/text.h"
#include "cli/commands.h"
#include "run/sim.h"
#include "sys/file.h"

#include <string.h>
#include <unistd.h>

enum { PROMPT_MAX = 16 << 20 };

/* What a variable says; NULL where it is unset or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int number(const char *name, int64_t missing, int64_t *ret)
{
    const char *value = variable(name);
    *ret = value ? text_parse_count(value, strlen(value)) : missing;
    return *ret < missing ? cli_usage(&cmd_sim, "%s: '%s' is not a number from %lld on", name,
                                      value, (long long)missing)
                          : EXIT_OK;
}

static int run_sim(const void *options, int argc, char **argv)
{
    (void)options, (void)argc, (void)argv;
    autobuf struct buf prompt = BUF_INIT;
    struct err err;
    int code = EXIT_OK;
    struct sim_job job = {
        .task = variable("ANABRANCH_TASK"),
        .owns = variable("ANABRANCH_OWNS"),
        .out_fd = STDOUT_FILENO,
        .errs_fd = STDERR_FILENO,
    };
    if (number("ANABRANCH_ATTEMPT", 1, &job.attempt) ||
        number("ANABRANCH_ESTIMATE_MS", 0, &job.estimate))
        return EXIT_USAGE;
    if (file_read("-", PROMPT_MAX, &prompt, &err))
        return cli_fail(EXIT_ENV, "the prompt: %s", err.msg);
    job.prompt = prompt.s;
    job.len = prompt.len;
    if (sim_run(&job, &code, &err))
        return cli_fail(EXIT_ENV, "an event could not be written: %s", err.msg);
    return code;
}

const struct command cmd_sim = {
    .name = "__sim",
    .summary = "Be the agent that does what its prompt's lines say",
    .about = "Reads the prompt on the standard input, works in the current folder, and writes one "
             "JSON event per line on the standard output. Lines of the prompt that start with "
             "sim> are steps; without any, it writes a file into each owned path.",
    .hidden = true,
    .see_also = "anabranch-events(7)",
    .run = run_sim,
};
