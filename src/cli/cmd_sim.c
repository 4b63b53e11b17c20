#include "base/mem.h"
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

struct sim_opts {
    const char *session;
};

/* A session is kept in the folder of the attempt that began it, which its name ends with. */
static char *memory(const char *session, int64_t attempt)
{
    const char *tmp = variable("TMPDIR"), *dash = session ? strrchr(session, '-') : NULL;
    int64_t first = dash ? text_parse_count(dash + 1, strlen(dash + 1)) : attempt;
    return tmp && variable("ANABRANCH_RUN") && first > 0
               ? mem_printf("%s/../../%lld/tmp/session", tmp, (long long)first)
               : NULL;
}

static int read_prompt(const struct sim_job *job, struct buf *out, struct err *err)
{
    if (!job->session)
        return file_read("-", PROMPT_MAX, out, err);
    if (!job->memory)
        return err_set(err, ERR_INPUT, "there is no session '%s'", job->session);
    return file_read(job->memory, PROMPT_MAX, out, err);
}

static int run_sim(const void *options, int argc, char **argv)
{
    (void)argc, (void)argv;
    const struct sim_opts *opts = options;
    autobuf struct buf prompt = BUF_INIT;
    struct err err;
    int code = EXIT_OK;
    struct sim_job job = {
        .session = opts->session,
        .task = variable("ANABRANCH_TASK"),
        .owns = variable("ANABRANCH_OWNS"),
        .out_fd = STDOUT_FILENO,
        .errs_fd = STDERR_FILENO,
    };
    if (number("ANABRANCH_ATTEMPT", 1, &job.attempt) ||
        number("ANABRANCH_ESTIMATE_MS", 0, &job.estimate))
        return EXIT_USAGE;
    autofree char *kept = memory(job.session, job.attempt);
    job.memory = kept;
    if (read_prompt(&job, &prompt, &err))
        return cli_fail(EXIT_ENV, "the prompt: %s", err.msg);
    job.prompt = prompt.s;
    job.len = prompt.len;
    if (sim_run(&job, &code, &err))
        return cli_fail(EXIT_ENV, "an event could not be written: %s", err.msg);
    return code;
}

static const struct opt opts_table[] = {
    {"session", 0, OPT_STRING, offsetof(struct sim_opts, session), "ID", NULL,
     "Go on with a session that met a limit"},
    {0},
};

const struct command cmd_sim = {
    .name = "__sim",
    .summary = "Be the agent that does what its prompt's lines say",
    .about = "Reads the prompt on the standard input, works in the current folder, and writes one "
             "JSON event per line on the standard output. Lines of the prompt that start with "
             "sim> are steps; without any, it writes a file into each owned path.",
    .hidden = true,
    .opts = opts_table,
    .options_size = sizeof(struct sim_opts),
    .see_also = "anabranch-events(7)",
    .run = run_sim,
};
