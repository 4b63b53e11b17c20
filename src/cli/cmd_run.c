#include "base/mem.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/plan_opts.h"
#include "core/plan_words.h"
#include "front/lines.h"
#include "front/summary.h"
#include "run/run.h"
#include "sys/self.h"

#include <signal.h>
#include <string.h>

struct run_opts {
    struct plan_opts plan;
    int64_t workers, max_workers;
    const char *base, *only, *engine, *engine_exe, *timeout;
    bool quiet, json, keep;
};

/* --- showing ------------------------------------------------------------------------------ */

struct view {
    const struct run_opts *opts;
    int64_t started;
};

static void show_event(void *ctx, const struct event *ev)
{
    struct view *v = ctx;
    autobuf struct buf out = BUF_INIT;
    if (!v->started)
        v->started = ev->time;
    if (v->opts->json) {
        struct arena a = {0};
        doc_write_line(&out, event_encode(ev, &a));
        buf_addch(&out, '\n');
        arena_done(&a);
    } else {
        lines_event(ev, v->started, v->opts->quiet, &out);
    }
    if (out.len)
        (void)cli_print(out.s, out.len);
}

static int exit_code(const struct run_result *r)
{
    if (r->signal)
        return 128 + r->signal;
    if (r->conflicted || !r->published)
        return EXIT_CONFLICT;
    return r->failed || r->skipped ? EXIT_TASK : EXIT_OK;
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
    struct view view = {.opts = opts};
    if (run_open(&run, pf, path, ro, &err))
        return cli_fail(err.code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s", err.msg);
    run_observe(run, show_event, &view);
    int code = EXIT_OK;
    if (run_go(run, &err)) {
        code = cli_fail(EXIT_ENV, "%s", err.msg);
    } else {
        struct run_result r = run_result(run);
        code = exit_code(&r);
    }
    if (!opts->json) {
        autobuf struct buf out = BUF_INIT;
        summary(run, pf, ro->wanted, opts->quiet, &out);
        (void)cli_print(out.s, out.len);
    }
    run_close(run);
    return code;
}

static int run_run(const void *options, int argc, char **argv)
{
    const struct run_opts *opts = options;
    (void)argc;
    autoproblems struct problems ps;
    autoplan struct plan_file pf;
    struct doc_options doc = plan_doc_options(&opts->plan);
    struct run_options ro = {
        .workers = (size_t)(opts->workers ? opts->workers : opts->max_workers),
        .base = opts->base,
        .engine_exe = opts->engine_exe,
        .keep = opts->keep,
        .self = self_path(),
    };
    if (find_engine(opts->engine, &ro.engine))
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
        "Everything that can be checked is checked before anything is started.",
    .examples = "anabranch run plan.md\tRun a plan\n"
                "anabranch run -j 8 plan.md\tWith up to eight agents at once\n"
                "anabranch run --engine sim plan.md\tWith the built-in scripted agent\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct run_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_run,
};
