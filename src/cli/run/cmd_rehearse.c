#include "cli/common/plan_opts.h"
#include "cli/frame/cli.h"
#include "cli/frame/commands.h"
#include "run/rehearse/rehearse.h"
#include "sys/self_exe.h"
#include "view/rehearsal_text.h"

struct rehearse_opts {
    struct plan_opts plan;
    int64_t workers;
    const char *base;
    bool with_commands, keep, json;
};

static void print_event(void *ctx, const struct event *ev)
{
    autoarena struct arena a = {0};
    (void)ctx;
    (void)cli_print_json(event_encode(ev, &a));
}

static int rehearse_plan(const struct rehearsal *r, struct plan_file *pf, const char *path,
                         const struct rehearse_opts *opts)
{
    struct run_options run_options = {
        .workers = (size_t)opts->workers,
        .base = r->base,
        .engine = ENGINE_SIM,
        .keep = opts->keep,
        .self = self_path(),
    };
    struct rehearsal_clock clock = {0};
    struct err err = {0};
    struct run *run;
    if (run_open(&run, pf, path, &run_options, &err))
        return cli_fail_by(&err);
    run_observe(run, rehearsal_clock_event, &clock);
    if (opts->json)
        run_observe(run, print_event, NULL);
    if (opts->json && opts->keep)
        (void)fprintf(stderr, "The rehearsal is in %s\n", r->dir);
    int code = run_go(run, &err) ? cli_fail_by(&err) : run_result(run).exit_code;
    if (!opts->json) {
        autobuf struct buf out = BUF_INIT;
        rehearsal_text(r, run, pf, &clock, &out);
        if (opts->keep)
            buf_addf(&out, "The rehearsal is in %s\n", r->dir);
        (void)cli_print(out.s, out.len);
    }
    run_close(run);
    return code;
}

static int run_rehearse(const void *options, char **argv)
{
    const struct rehearse_opts *opts = options;
    autoplan struct plan_file pf;
    struct rehearsal r;
    struct err err = {0};
    if (plan_open(&pf, argv[0], &opts->plan) != EXIT_OK)
        return EXIT_USAGE;
    int code = rehearsal_open(&r, &pf, opts->base, opts->with_commands, &err)
                   ? cli_fail_by(&err)
                   : rehearse_plan(&r, &pf, argv[0], opts);
    if (rehearsal_close(&r, opts->keep, &err))
        code = cli_fail_by(&err);
    return code;
}

static const struct opt opts_table[] = {
    {"workers", 'j', OPT_COUNT, offsetof(struct rehearse_opts, workers), "N", NULL,
     "Run at most this many agents at the same time"},
    {"base", 0, OPT_STRING, offsetof(struct rehearse_opts, base), "BRANCH", NULL,
     "Land on this branch (default: the plan's base, or the branch that is checked out)"},
    {"with-commands", 0, OPT_FLAG, offsetof(struct rehearse_opts, with_commands), NULL, NULL,
     "Run the plan's own commands too: setup, teardown, verify"},
    {"keep", 0, OPT_FLAG, offsetof(struct rehearse_opts, keep), NULL, NULL,
     "Keep the clone, and print its folder"},
    {"json", 0, OPT_FLAG, offsetof(struct rehearse_opts, json), NULL, NULL,
     "Print one event per line, as JSON"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_rehearse = {
    .name = "rehearse",
    .summary = "Run a plan without its agents, in a temporary clone",
    .about =
        "The built-in agent replaces every other agent: it writes a small file into each path "
        "that its task owns. Everything else works as in 'anabranch run': worktrees, commits, "
        "ownership, order, landing. At the end the command lists the tasks that would land and "
        "those that would conflict, and says how long everything took apart from the agents.\n\n"
        "Your repository is not touched: the rehearsal runs in a clone in TMPDIR that shares "
        "its objects. The clone has no ignored files. Nobody is notified. The plan's own "
        "commands run only with --with-commands.",
    .examples = "anabranch rehearse plan.md\tShow what would happen\n"
                "anabranch rehearse --with-commands plan.md\tRun its verify commands too\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct rehearse_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_rehearse,
};
