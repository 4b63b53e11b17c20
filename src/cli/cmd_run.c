#include "base/mem.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/plan_opts.h"
#include "cli/run_end.h"
#include "cli/run_view.h"
#include "core/plan_words.h"
#include "front/run_text.h"
#include "run/run.h"
#include "sys/self.h"
#include "sys/term.h"

#include <signal.h>
#include <string.h>

struct run_opts {
    struct plan_opts plan;
    int64_t workers, max_workers;
    const char *base, *only, *engine, *engine_exe, *timeout, *log_dir;
    struct opt_list reports;
    bool quiet, json, keep, no_log, dry_run, dashboard, no_dashboard;
};

/* --- showing ------------------------------------------------------------------------------ */

static enum run_view_kind view_kind(const struct run_opts *opts)
{
    if (opts->json)
        return VIEW_JSON;
    if (opts->dashboard || (!opts->no_dashboard && !opts->quiet && run_view_can_draw(stdout)))
        return VIEW_LIVE;
    return opts->quiet ? VIEW_PROBLEMS : VIEW_LINES;
}

static int show_dry_run(const struct run *run, struct plan_file *pf, const bool *wanted)
{
    autobuf struct buf out = BUF_INIT;
    run_text(run, pf, wanted, isatty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0, &out);
    return cli_print(out.s, out.len);
}

static enum run_end_show end_show(const struct run_opts *opts)
{
    return opts->json ? RUN_END_NOTHING : opts->quiet ? RUN_END_PROBLEMS : RUN_END_ALL;
}

/* --- options ------------------------------------------------------------------------------ */

/* Marks the tasks of a comma-separated list; -1, told, where there is none of that name. */
static int choose_tasks(const struct plan *plan, const char *only, bool *wanted)
{
    autofree char *list = mem_str(only);
    for (char *next = list, *id; (id = strsep(&next, ","));) {
        const struct task *t = plan_find(plan, id);
        if (!t) {
            (void)cli_fail(EXIT_USAGE, "--only: the plan has no task '%s'", id);
            return -1;
        }
        wanted[t->index] = true;
    }
    return 0;
}

static int find_engine(const char *name, enum engine *ret)
{
    *ret = ENGINE_UNSET;
    for (int i = 1; name && engine_words[i]; i++) {
        if (strcmp(name, engine_words[i]) == 0)
            *ret = (enum engine)i;
    }
    return name && !*ret ? cli_fail(EXIT_USAGE, "--engine: there is no engine '%s'", name) : 0;
}

static int go(struct plan_file *pf, const char *path, const struct run_opts *opts,
              struct run_options *ro)
{
    struct err err = {0};
    struct run *run;
    struct run_view view;
    if (run_open(&run, pf, path, ro, &err))
        return cli_fail(err.code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s", err.msg);
    int code = EXIT_OK;
    if (opts->dry_run) {
        code = show_dry_run(run, pf, ro->wanted);
        run_close(run);
        return code;
    }
    run_view_begin(&view, view_kind(opts), stdout, run, pf, ro->wanted);
    int rc = run_go(run, &err);
    run_view_end(&view);
    code = rc ? cli_fail(EXIT_ENV, "%s", err.msg) : run_result(run).exit_code;
    code = run_end(run, end_show(opts), &opts->reports, code);
    run_close(run);
    return code;
}

static int run_run(const void *options, int argc, char **argv)
{
    const struct run_opts *opts = options;
    (void)argc;
    autoproblems struct problems ps = {0};
    autoplan struct plan_file pf = {0};
    struct doc_options doc = plan_doc_options(&opts->plan);
    struct run_options ro = {
        .workers = (size_t)(opts->workers ? opts->workers : opts->max_workers),
        .base = opts->base,
        .engine_exe = opts->engine_exe,
        .keep = opts->keep,
        .log_dir = opts->log_dir,
        .no_log = opts->no_log,
        .self = self_path(),
    };
    if (opts->dashboard && (opts->no_dashboard || opts->json))
        return cli_usage(&cmd_run, "--dashboard and --%s do not go together",
                         opts->json ? "json" : "no-dashboard");
    if (opts->dry_run && opts->json)
        return cli_usage(&cmd_run, "--dry-run and --json do not go together");
    if (opts->log_dir && opts->no_log)
        return cli_usage(&cmd_run, "--log-dir and --no-log do not go together");
    if (run_end_check(&opts->reports, opts->log_dir) != EXIT_OK ||
        find_engine(opts->engine, &ro.engine))
        return EXIT_USAGE;
    if (opts->timeout &&
        (ro.timeout = text_parse_duration(opts->timeout, strlen(opts->timeout))) <= 0)
        return cli_usage(&cmd_run, "--timeout: '%s' is not a duration", opts->timeout);
    problems_init(&ps, argv[0]);
    int checked = plan_file_open(&pf, argv[0], &doc, &ps);
    plan_print_problems(&ps);
    if (checked)
        return EXIT_USAGE;
    autofree bool *wanted = mem_array(pf.plan.task_count, sizeof(*wanted));
    if (opts->only && choose_tasks(&pf.plan, opts->only, wanted))
        return EXIT_USAGE;
    ro.wanted = opts->only ? wanted : NULL;
    return go(&pf, argv[0], opts, &ro);
}

static const struct opt opts_table[] = {
    {"workers", 'j', OPT_COUNT, offsetof(struct run_opts, workers), "N", NULL,
     "Agents at work at the same time"},
    {"max-workers", 0, OPT_COUNT, offsetof(struct run_opts, max_workers), "N", NULL,
     "The same as --workers"},
    {"base", 0, OPT_STRING, offsetof(struct run_opts, base), "BRANCH", NULL,
     "Land on this branch; without it what the plan says, or the branch that is checked out"},
    {"only", 0, OPT_STRING, offsetof(struct run_opts, only), "TASK,...", NULL,
     "Run these tasks alone, as if all others were done"},
    {"engine", 0, OPT_STRING, offsetof(struct run_opts, engine), "NAME", NULL,
     "Use this engine for every task"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct run_opts, engine_exe), "PATH", NULL,
     "The engine's program, where it is not on PATH"},
    {"timeout", 0, OPT_STRING, offsetof(struct run_opts, timeout), "D", NULL,
     "Time limit for tasks that have none: 90s, 15m, 2h"},
    {"keep", 0, OPT_FLAG, offsetof(struct run_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of tasks that landed"},
    {"report", 0, OPT_LIST, offsetof(struct run_opts, reports), "FILE", NULL,
     "Write a report when the run has ended; its format goes by the ending of the name: .json, "
     ".md, "
     ".markdown or .xml (JUnit)"},
    {"log-dir", 0, OPT_STRING, offsetof(struct run_opts, log_dir), "DIR", NULL,
     "Copy what agents print to TASK-stdout.log and TASK-stderr.log in this folder, without "
     "secrets"},
    {"no-log", 0, OPT_FLAG, offsetof(struct run_opts, no_log), NULL, NULL,
     "Do not keep what agents print, unless their task failed"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct run_opts, dry_run), NULL, NULL,
     "Check everything and say what would be run, and how; change nothing"},
    {"dashboard", 0, OPT_FLAG, offsetof(struct run_opts, dashboard), NULL, NULL,
     "Draw the live view, also where the output is no terminal"},
    {"no-dashboard", 0, OPT_FLAG, offsetof(struct run_opts, no_dashboard), NULL, NULL,
     "Print plain lines, also on a terminal"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct run_opts, quiet), NULL, NULL,
     "Show only what went wrong"},
    {"json", 0, OPT_FLAG, offsetof(struct run_opts, json), NULL, NULL,
     "Print one event per line, as JSON"},
    PLAN_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "PLAN", .help = "The plan's file, or - for standard input", .file = true},
    {0},
};

static const enum exit_code exits[] = {EXIT_TASK, EXIT_USAGE, EXIT_ENV, EXIT_CONFLICT, EXIT_OK};

const struct command cmd_run = {
    .name = "run",
    .summary = "Carry out a plan: agents at work side by side, their results landed",
    .about =
        "Each task is done in a worktree of its own, committed, verified as the plan says, and "
        "landed on the base branch as soon as it is ready. A task that depends on others starts "
        "from a tree that has their work. Your checkout follows where that touches no file that "
        "you have changed.\n\n"
        "Everything that can be checked is checked before anything is started.\n\n"
        "SIGINT, SIGTERM and SIGHUP stop the run: agents are asked to end and their work is saved; "
        "a "
        "second one kills them at once. ^Z stops the agents as well, and their time, until the run "
        "goes on. Whatever agents leave running is ended with their task, and named.\n\n"
        "A lock that another git holds is waited for, ten seconds long; a git that does not end is "
        "given up after ten minutes. The environment variable ANABRANCH_PATIENCE gives another "
        "time for both, such as 90s or 15m.",
    .examples = "anabranch run plan.md\tRun a plan\n"
                "anabranch run -j 8 plan.md\tWith up to eight agents at once\n"
                "anabranch run --dry-run plan.md\tSay what would be run\n"
                "anabranch run --engine sim plan.md\tWith the built-in scripted agent\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct run_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_run,
};
