#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "sys/fs/file.h"

#include <string.h>
#include <unistd.h>

enum { PROMPT_MAX = 16 << 20 };

/* Returns the value of a variable, or NULL if it is unset or empty. */
static const char *get_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int read_number(const char *name, int64_t missing, int64_t *ret)
{
    const char *value = get_variable(name);
    *ret = value ? text_parse_count(value, strlen(value)) : missing;
    return *ret < missing ? cli_usage(&cmd_sim, "%s: '%s' is not a number of at least %lld", name,
                                      value, (long long)missing)
                          : EXIT_OK;
}

struct sim_opts {
    const char *session;
};

/* Finds a file of the session. It is in the folder of the attempt that began the session; the
 * session's name ends with the number of that attempt. */
static char *find_session_file(const char *session, int64_t attempt, const char *name)
{
    const char *tmp = get_variable("TMPDIR"), *dash = session ? strrchr(session, '-') : NULL;
    int64_t first = dash ? text_parse_count(dash + 1, strlen(dash + 1)) : attempt;
    return tmp && get_variable("ANABRANCH_RUN") && first > 0
               ? mem_printf("%s/../../%lld/%s", tmp, (long long)first, name)
               : NULL;
}

/* Removes the finished steps from the prompt, except the steps for a single attempt. */
static void drop_done_steps(struct buf *prompt)
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

/* Reads the prompt. If we resume a session that met a limit, its remaining steps come first. If the
 * session has ended, we keep only its steps for single attempts. */
static int read_prompt(const struct sim_job *job, struct buf *out, struct err *err)
{
    autobuf struct buf more = BUF_INIT;
    if (file_read_input("-", PROMPT_MAX, &more, err))
        return -1;
    if (job->session && !job->memory)
        return err_set(err, ERR_INPUT, "there is no session '%s'", job->session);
    if (job->session && file_read(job->memory, PROMPT_MAX, out, NULL)) {
        autofree char *first_prompt = find_session_file(job->session, job->attempt, "prompt");
        if (file_read(first_prompt, PROMPT_MAX, out, err))
            return -1;
        drop_done_steps(out);
    } else if (job->session && unlink(job->memory) < 0) {
        return err_sys(err, "remove '%s'", job->memory);
    }
    if (out->len && out->s[out->len - 1] != '\n')
        buf_addch(out, '\n');
    buf_add(out, more.s, more.len);
    return 0;
}

static int run_sim(const void *options, char **argv)
{
    (void)argv;
    const struct sim_opts *opts = options;
    autobuf struct buf prompt = BUF_INIT;
    struct err err;
    int code = EXIT_OK;
    struct sim_job job = {
        .session = opts->session,
        .task = get_variable("ANABRANCH_TASK"),
        .owns = get_variable("ANABRANCH_OWNS"),
        .out_fd = STDOUT_FILENO,
        .errs_fd = STDERR_FILENO,
    };
    if (read_number("ANABRANCH_ATTEMPT", 1, &job.attempt) ||
        read_number("ANABRANCH_ESTIMATE_MS", 0, &job.estimate))
        return EXIT_USAGE;
    autofree char *session_file = find_session_file(job.session, job.attempt, "tmp/session");
    job.memory = session_file;
    if (read_prompt(&job, &prompt, &err))
        return cli_fail(EXIT_ENV, "the prompt: %s", err.msg);
    job.prompt = prompt.s;
    job.len = prompt.len;
    if (sim_run(&job, &code, &err))
        return cli_fail(EXIT_ENV, "cannot write an event: %s", err.msg);
    return code;
}

static const struct opt opts_table[] = {
    {"session", 0, OPT_STRING, offsetof(struct sim_opts, session), "ID", NULL,
     "Resume a session that met a limit, or that has ended"},
    {0},
};

const struct command cmd_sim = {
    .name = "__sim",
    .summary = "Run the scripted agent, which carries out the lines of its prompt",
    .about = "Reads the prompt on the standard input, works in the current folder, and writes one "
             "JSON event per line on the standard output. Lines of the prompt that start with "
             "sim> are steps; without any, it writes a file into each owned path.",
    .hidden = true,
    .opts = opts_table,
    .options_size = sizeof(struct sim_opts),
    .see_also = "anabranch-events(7)",
    .run = run_sim,
};
