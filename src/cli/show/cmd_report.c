#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "view/report/kept_ref.h"

struct report_opts {
    int format; /* 0: from the file's name; else enum report_format + 1 */
    const char *output;
};

/* "auto", then by enum report_format. */
static const char *const formats[] = {"auto", "json", "md", "html", "junit", "sarif", NULL};

static int choose_format(const struct report_opts *opts, enum report_format *ret)
{
    struct err err = {0};
    *ret = opts->format ? (enum report_format)(opts->format - 1) : REPORT_JSON;
    if (!opts->output)
        return EXIT_OK;
    if ((!opts->format && report_format_of(opts->output, ret, &err)) ||
        report_check(opts->output, &err))
        return cli_fail(EXIT_USAGE, "--output: %s", err.msg);
    return EXIT_OK;
}

static int write_or_print(const struct lookup *look, const struct report *r,
                          enum report_format format, const char *path)
{
    struct report_source from = {.store = look->store, .git_dir = look->repo.common};
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    int rc = path ? report_write(r, &from, format, path, &err)
                  : report_add(r, &from, format, &out, &err);
    if (rc)
        return cli_fail(EXIT_ENV, "cannot make the report: %s", err.msg);
    return path ? EXIT_OK : cli_print(out.s, out.len);
}

static int run_report(const void *options, char **argv)
{
    const struct report_opts *opts = options;
    enum report_format format;
    struct err err = {0};
    autolook struct lookup look = {0};
    autoreport struct report r = {0};
    int code = choose_format(opts, &format);
    if (code == EXIT_OK)
        code = lookup_open_run(&look, argv[0], &r);
    if (code == EXIT_OK && report_find_kept(&r, look.repo.common, &err))
        code = cli_fail(EXIT_ENV, "%s", err.msg);
    if (code == EXIT_OK)
        report_find_merge_place(&r, &look.repo);
    return code == EXIT_OK ? write_or_print(&look, &r, format, opts->output) : code;
}

static const struct opt opts_table[] = {
    {"format", 0, OPT_CHOICE, offsetof(struct report_opts, format), "FORMAT", formats,
     "The format of the report; 'auto' uses the ending of the file's name, or JSON without a "
     "file"},
    {"output", 'o', OPT_STRING, offsetof(struct report_opts, output), "FILE", NULL,
     "Write the report into this file, atomically"},
    {0},
};

static const struct arg args[] = {
    {.name = "RUN", .help = "Its id, the beginning of its id, or 'last' for the newest run"},
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .summary = "Print a report of a run",
    .about =
        "Prints the report that 'anabranch run --report' writes into a file: everything that is "
        "known of a run and of each of its tasks.\n\n"
        "'html' is one file for a browser that needs nothing else: the timeline, the graph, the "
        "cost, and for each task its changes and the last message of its agent. 'md' is "
        "Markdown that fits into a comment of a pull request. 'json' is for programs. 'junit' "
        "and 'sarif' are for CI systems: tasks as tests; failures, and paths that a task "
        "changed and does not own, as results.\n\n"
        "If a report had to leave out or shorten something, it says so.",
    .examples =
        "anabranch report last -o report.html\tMake a page for people\n"
        "anabranch report last --format md | gh pr comment 7 -F -\tComment on a pull request\n"
        "anabranch report last --format junit >report.xml\tMake a report for CI\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct report_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_report,
};
