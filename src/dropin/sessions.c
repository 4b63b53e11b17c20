/*
 * parallel-sessions: its command line. parallel-sessions(1) lists the intended differences from
 * that tool.
 */
#include "dropin/sessions.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "dropin/dropin.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>

struct subcommand {
    const char *name;
    const char *usage; /* printed after "usage: parallel-sessions NAME [-h]" */
    const char *help;
    bool takes_plan, takes_no_push;
    int (*run)(const struct sessions_options *opts);
};

static const struct subcommand subcommands[] = {
    {"fanout", " plan", "create worktrees from a plan.toml", true, false, sessions_fanout},
    {"status", "", "show status across all worktrees", false, false, sessions_status},
    {"converge", " [--no-push]", "push branches + open one PR per worktree", false, true,
     sessions_converge},
    {"cleanup", "", "remove merged worktrees", false, false, sessions_cleanup},
};
enum { SUBCOMMANDS = ARRAY_LEN(subcommands) };

static void add_usage(struct buf *out, const struct subcommand *sub)
{
    buf_addf(out, "usage: parallel-sessions%s%s [-h]", sub ? " " : "", sub ? sub->name : "");
    if (sub)
        buf_addstr(out, sub->usage);
    for (size_t i = 0; !sub && i < SUBCOMMANDS; i++)
        buf_addf(out, "%s%s", i ? "," : " {", subcommands[i].name);
    buf_addstr(out, sub ? "\n" : "} ...\n");
}

static int usage_error(const struct subcommand *sub, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int usage_error(const struct subcommand *sub, const char *fmt, ...)
{
    autobuf struct buf raw = BUF_INIT, out = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&raw, fmt, ap);
    va_end(ap);
    add_usage(&out, sub);
    buf_addf(&out, "parallel-sessions%s%s: error: ", sub ? " " : "", sub ? sub->name : "");
    text_harmless(&out, raw.s, raw.len);
    (void)fprintf(stderr, "%s\n", out.s);
    return EXIT_USAGE;
}

static int print_help(const struct subcommand *sub)
{
    autobuf struct buf out = BUF_INIT;
    add_usage(&out, sub);
    buf_addch(&out, '\n');
    if (sub && sub->takes_plan)
        buf_addstr(&out, "positional arguments:\n  plan        path to plan.toml\n\n");
    for (size_t i = 0; !sub && i < SUBCOMMANDS; i++)
        buf_addf(&out, "  %-10s  %s\n", subcommands[i].name, subcommands[i].help);
    buf_addstr(&out, sub ? "options:\n" : "\noptions:\n");
    buf_addstr(&out, "  -h, --help  show this help message and exit\n");
    if (sub && sub->takes_no_push)
        buf_addstr(&out, "  --no-push   print commands, do not push or open PRs\n");
    buf_addstr(&out, "\nThis is anabranch under another name: see parallel-sessions(1).\n");
    return cli_print(out.s, out.len);
}

enum { WORD = 1, OPT_NO_PUSH = 256, OPT_HELP = 'h' };

static const struct option with_no_push[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"no-push", no_argument, NULL, OPT_NO_PUSH},
    {0},
};
static const struct option plain[] = {{"help", no_argument, NULL, OPT_HELP}, {0}};

static int run_subcommand(const struct subcommand *sub, int argc, char **argv)
{
    struct sessions_options o = {0};
    const struct option *longs = sub->takes_no_push ? with_no_push : plain;
    const char *extra = NULL;
    opterr = 0;
    optind = 0;
    /* "-": options may follow the plan, even if POSIXLY_CORRECT is set */
    for (int val; (val = getopt_long(argc, argv, "-h", longs, NULL)) != -1;) {
        if (val == OPT_HELP)
            return print_help(sub);
        if (val == OPT_NO_PUSH)
            o.no_push = true;
        else if (val == WORD && sub->takes_plan && !o.plan)
            o.plan = optarg;
        else if (!extra)
            extra = val == WORD ? optarg : argv[optind - 1];
    }
    if (sub->takes_plan && !o.plan && optind < argc) /* after "--" */
        o.plan = argv[optind++];
    if (sub->takes_plan && !o.plan)
        return usage_error(sub, "the following arguments are required: plan");
    if (!extra && optind < argc)
        extra = argv[optind];
    return extra ? usage_error(NULL, "unrecognized arguments: %s", extra) : sub->run(&o);
}

static int report_unknown_command(const char *word)
{
    autobuf struct buf names = BUF_INIT;
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        buf_addf(&names, "%s'%s'", i ? ", " : "", subcommands[i].name);
    return usage_error(NULL, "argument cmd: invalid choice: '%s' (choose from %s)", word, names.s);
}

int dropin_sessions(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return usage_error(NULL, "the following arguments are required: cmd");
    if (strcmp(word, "-h") == 0 || (strlen(word) > 2 && strncmp("--help", word, strlen(word)) == 0))
        return print_help(NULL);
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        if (strcmp(word, subcommands[i].name) == 0)
            return run_subcommand(&subcommands[i], argc - 1, argv + 1);
    }
    if (*word == '-')
        return usage_error(NULL, "the following arguments are required: cmd");
    return report_unknown_command(word);
}
