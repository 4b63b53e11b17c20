/*
 * parallel-orchestra: its command line and exit codes; our engine executes the run.
 * parallel-orchestra(1) lists the intended differences from that tool.
 */
#include "dropin/dropin.h"

#include "base/mem.h"
#include "cli/frame/cli.h"
#include "dropin/orchestra.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

static const char usage_line[] = "usage: parallel-orchestra [-h] [--version] {run} ...\n";
static const char run_usage[] =
    "usage: parallel-orchestra run [-h] [--max-workers N] [--claude-exe PATH] [--quiet]\n"
    "                              [--log-dir PATH | --no-log] [--dry-run] [--resume]\n"
    "                              [--report PATH] [--dashboard | --no-dashboard]\n"
    "                              manifest\n";
static const char run_help[] =
    "\nRuns the tasks of a manifest, each in its own git worktree.\n"
    "\n"
    "  --max-workers N    tasks in parallel (3)\n"
    "  --claude-exe PATH  the claude program (claude)\n"
    "  --quiet            no summary lines for tasks that succeeded\n"
    "  --log-dir PATH     folder for the logs of tasks (.claude/logs)\n"
    "  --no-log           write no logs\n"
    "  --dry-run          show the plan of execution and exit\n"
    "  --resume           skip the tasks that an earlier run finished\n"
    "  --report PATH      write a report: .json, .md or .markdown\n"
    "  --dashboard, --no-dashboard\n"
    "                     live view on standard error; default on a terminal\n"
    "\n"
    "This is anabranch under another name: see parallel-orchestra(1).\n";

static int print_usage_error(const char *synopsis, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int print_usage_error(const char *synopsis, const char *fmt, ...)
{
    va_list ap;
    (void)fputs(synopsis, stderr);
    va_start(ap, fmt);
    cli_say("parallel-orchestra: error: ", fmt, ap);
    va_end(ap);
    return EXIT_USAGE;
}

/* getopt_long() returns where the value of an option belongs, as an offset from one of these. */
enum { WORD = 1 /* no option */, HELP = 'h', FLAGS = 256, TEXTS = 512 };

#define FLAG(member) no_argument, NULL, FLAGS + (int)offsetof(struct orchestra_options, member)
#define TEXT(member)                                                                               \
    required_argument, NULL, TEXTS + (int)offsetof(struct orchestra_options, member)

static const struct option long_options[] = {
    {"max-workers", TEXT(workers)},
    {"claude-exe", TEXT(claude)},
    {"quiet", FLAG(quiet)},
    {"log-dir", TEXT(log_dir)},
    {"no-log", FLAG(no_log)},
    {"dry-run", FLAG(dry_run)},
    {"resume", FLAG(resume)},
    {"report", TEXT(report)},
    {"dashboard", FLAG(dashboard)},
    {"no-dashboard", FLAG(no_dashboard)},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int set_workers(struct orchestra_options *o, const char *word)
{
    char *end;
    errno = 0;
    long n = strtol(word, &end, 10);
    if (errno || end == word || *end)
        return print_usage_error(run_usage, "argument --max-workers: invalid int value: '%s'",
                                 word);
    if (n < 1 || n > INT_MAX)
        return print_usage_error(run_usage, "argument --max-workers: must be 1 or more, got %s",
                                 word);
    o->workers = (size_t)n;
    return EXIT_OK;
}

static int set_manifest(struct orchestra_options *o, const char *word)
{
    if (o->manifest)
        return print_usage_error(run_usage, "unrecognized arguments: %s", word);
    o->manifest = word;
    return EXIT_OK;
}

/* Handles one option; not EXIT_OK if the call is invalid. */
static int set_option(struct orchestra_options *o, int val, char **argv)
{
    if (val == WORD)
        return set_manifest(o, optarg);
    if (val == ':')
        return print_usage_error(run_usage, "argument %s: expected one argument", argv[optind - 1]);
    if (val == '?')
        return print_usage_error(run_usage, "unrecognized or ambiguous option: %s",
                                 argv[optind - 1]);
    if (val == TEXTS + (int)offsetof(struct orchestra_options, workers))
        return set_workers(o, optarg);
    if (val >= TEXTS)
        *(const char **)((char *)o + val - TEXTS) = optarg;
    else
        *(val == HELP ? &o->help : (bool *)((char *)o + val - FLAGS)) = true;
    return EXIT_OK;
}

static int parse_options(struct orchestra_options *o, int argc, char **argv)
{
    int code = EXIT_OK;
    opterr = 0;
    optind = 0;
    /* "-": options may follow the manifest, even if POSIXLY_CORRECT is set */
    for (int val; code == EXIT_OK && !o->help &&
                  (val = getopt_long(argc, argv, "-:h", long_options, NULL)) != -1;)
        code = set_option(o, val, argv);
    if (o->help)
        return code;
    for (; code == EXIT_OK && optind < argc; optind++) /* after "--" */
        code = set_manifest(o, argv[optind]);
    if (code != EXIT_OK)
        return code;
    if (o->dashboard && o->no_dashboard)
        return print_usage_error(run_usage,
                                 "argument --no-dashboard: not allowed with argument --dashboard");
    if (!o->manifest)
        return print_usage_error(run_usage, "the following arguments are required: manifest");
    return EXIT_OK;
}

static int run_command(int argc, char **argv)
{
    struct orchestra_options o = {.workers = 3};
    int code = parse_options(&o, argc, argv);
    if (code != EXIT_OK)
        return code;
    if (o.help) {
        code = cli_print(run_usage, strlen(run_usage));
        return code ? code : cli_print(run_help, strlen(run_help));
    }
    return orchestra_run(&o);
}

/* True if `word` is a long option or an abbreviation of it. */
static bool is_option(const char *word, const char *option)
{
    size_t len = strlen(word);
    return len > strlen("--") && strncmp(word, option, len) == 0;
}

/* The version of the tool that we replace; scripts compare it. */
static int print_version(void)
{
    static const char version[] = "0.1.4\n";
    return cli_print(version, strlen(version));
}

int dropin_orchestra(int argc, char **argv)
{
    if (argc < 2)
        return print_usage_error(usage_line, "the following arguments are required: run");
    if (is_option(argv[1], "--version"))
        return print_version();
    if (strcmp(argv[1], "-h") == 0 || is_option(argv[1], "--help")) {
        int code = cli_print(usage_line, strlen(usage_line));
        return code ? code : cli_print(run_help, strlen(run_help));
    }
    if (strcmp(argv[1], "run") == 0)
        return run_command(argc - 1, argv + 1);
    if (*argv[1] == '-')
        return print_usage_error(usage_line, "unrecognized arguments: %s", argv[1]);
    return print_usage_error(usage_line,
                             "argument command: invalid choice: '%s' (choose from 'run')", argv[1]);
}
