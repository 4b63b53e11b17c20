#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "sys/fs/file.h"

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
static char *memory(const char *session, int64_t attempt, const char *name)
{
    const char *tmp = variable("TMPDIR"), *dash = session ? strrchr(session, '-') : NULL;
    int64_t first = dash ? text_parse_count(dash + 1, strlen(dash + 1)) : attempt;
    return tmp && variable("ANABRANCH_RUN") && first > 0
               ? mem_printf("%s/../../%lld/%s", tmp, (long long)first, name)
               : NULL;
}

/* Of what is done nothing is done again, but for what is for this attempt. */
static void forget_done(struct buf *prompt)
{
    autobuf struct buf left = BUF_INIT;
    struct sim_script script = {prompt->s, prompt->s + prompt->len, 0};
    const char *s;
    size_t len;
    while (sim_script_next(&script, &s, &len)) {
        if (sim_step_is_for_one(s, len))
            buf_addf(&left, "sim>%.*s\n", (int)len, s);
    }
    buf_cut(prompt, 0);
    buf_add(prompt, left.s, left.len);
}

/* What was left of the prompt where it met a limit; else it was done, and is told something more.
 */
static int read_prompt(const struct sim_job *job, struct buf *out, struct err *err)
{
    autobuf struct buf more = BUF_INIT;
    if (file_read_input("-", PROMPT_MAX, &more, err))
        return -1;
    if (job->session && !job->memory)
        return err_set(err, ERR_INPUT, "there is no session '%s'", job->session);
    if (job->session && file_read(job->memory, PROMPT_MAX, out, NULL)) {
        autofree char *begun = memory(job->session, job->attempt, "prompt");
        if (file_read(begun, PROMPT_MAX, out, err))
            return -1;
        forget_done(out);
    } else if (job->session && unlink(job->memory) < 0) {
        return err_sys(err, "remove '%s'", job->memory);
    }
    if (out->len && out->s[out->len - 1] != '\n')
        buf_addch(out, '\n');
    buf_add(out, more.s, more.len);
    return 0;
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
    autofree char *kept = memory(job.session, job.attempt, "tmp/session");
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
     "Go on with a session that met a limit, or came to its end"},
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
