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

enum {
    OPT_MAX_WORKERS = 256,
    OPT_CLAUDE_EXE,
    OPT_QUIET,
    OPT_LOG_DIR,
    OPT_NO_LOG,
    OPT_DRY_RUN,
    OPT_RESUME,
    OPT_REPORT,
    OPT_DASHBOARD,
    OPT_NO_DASHBOARD,
    OPT_HELP = 'h',
    WORD = 1, /* no option */
};

static const struct option long_options[] = {
    {"max-workers", required_argument, NULL, OPT_MAX_WORKERS},
    {"claude-exe", required_argument, NULL, OPT_CLAUDE_EXE},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"log-dir", required_argument, NULL, OPT_LOG_DIR},
    {"no-log", no_argument, NULL, OPT_NO_LOG},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"resume", no_argument, NULL, OPT_RESUME},
    {"report", required_argument, NULL, OPT_REPORT},
    {"dashboard", no_argument, NULL, OPT_DASHBOARD},
    {"no-dashboard", no_argument, NULL, OPT_NO_DASHBOARD},
    {"help", no_argument, NULL, OPT_HELP},
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
    switch (val) {
    case WORD:
        return set_manifest(o, optarg);
    case OPT_MAX_WORKERS:
        return set_workers(o, optarg);
    case OPT_CLAUDE_EXE:
        o->claude = optarg;
        break;
    case OPT_QUIET:
        o->quiet = true;
        break;
    case OPT_LOG_DIR:
        o->log_dir = optarg;
        break;
    case OPT_NO_LOG:
        o->no_log = true;
        break;
    case OPT_DRY_RUN:
        o->dry_run = true;
        break;
    case OPT_RESUME:
        o->resume = true;
        break;
    case OPT_REPORT:
        o->report = optarg;
        break;
    case OPT_DASHBOARD:
        o->dashboard = true;
        break;
    case OPT_NO_DASHBOARD:
        o->no_dashboard = true;
        break;
    case OPT_HELP:
        o->help = true;
        break;
    case ':':
        return print_usage_error(run_usage, "argument %s: expected one argument", argv[optind - 1]);
    default:
        return print_usage_error(run_usage, "unrecognized or ambiguous option: %s",
                                 argv[optind - 1]);
    }
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
