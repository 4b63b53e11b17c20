#include "cli/commands.h"
#include "cli/look.h"

struct report_opts {
    int format;
};

static int run_report(const void *options, int argc, char **argv)
{
    const struct report_opts *opts = options;
    (void)argc;
    autolook struct look look;
    autoreport struct report r = {0};
    autobuf struct buf out = BUF_INIT;
    int code = look_open(&look);
    if (code == EXIT_OK)
        code = look_run(&look, argv[0], &r);
    if (code != EXIT_OK)
        return code;
    report_add(&r, (enum report_format)opts->format, &out);
    return cli_print(out.s, out.len);
}

/* By enum report_format. */
static const char *const formats[] = {"json", "md", "junit", NULL};

static const struct opt opts_table[] = {
    {"format", 0, OPT_CHOICE, offsetof(struct report_opts, format), "FORMAT", formats,
     "What the report is written as"},
    {0},
};

static const struct arg args[] = {
    {.name = "RUN", .help = "Its id, the beginning of it, or 'last' for the newest one"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_report = {
    .name = "report",
    .summary = "Print a report of a run",
    .about = "Prints what 'anabranch run --report' writes into a file: all that is known of a run "
             "and of each of its tasks, as JSON, as Markdown, or as XML in the form of JUnit that "
             "CI systems read.",
    .examples = "anabranch report last --format md\tFor people\n"
                "anabranch report last --format junit >report.xml\tFor CI\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct report_opts),
    .exits = exits,
    .see_also = "anabranch-events(7)",
    .run = run_report,
};
