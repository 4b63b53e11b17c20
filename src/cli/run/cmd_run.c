#include "base/mem.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "cli/run/detach.h"
#include "cli/run/resume_call.h"
#include "cli/run/run_call.h"
#include "run/run.h"
#include "sys/self_exe.h"

struct run_opts {
    struct plan_opts plan;
    struct run_call call;
    int64_t workers, max_workers;
    const char *base, *only, *engine_exe, *log_dir;
    bool keep, no_log, dry_run, resume;
};

/* Resumes the newest run of the plan. Returns -1 if there is none yet. */
static int resume_newest(const char *path, const struct run_opts *opts)
{
    autolook struct lookup look = {0};
    struct resume_call rc = {
        .cmd = &cmd_run,
        .run_call = &opts->call,
        .doc = plan_doc_options(&opts->plan),
        .engine_exe = opts->engine_exe,
        .workers = (size_t)(opts->workers ? opts->workers : opts->max_workers),
        .keep = opts->keep,
        .dry_run = opts->dry_run,
    };
    if (!lookup_is_there())
        return -1;
    int code = lookup_open_repair(&look, !opts->dry_run);
    autofree char *id = code == EXIT_OK ? resume_run_of(&look, path) : NULL;
    return code != EXIT_OK ? code : id ? resume_call(&look, id, &rc) : -1;
}

static int run_run(const void *options, char **argv)
{
    const struct run_opts *opts = options;
    autoplan struct plan_file pf = {0};
    struct run_options ro = {
        .workers = (size_t)(opts->workers ? opts->workers : opts->max_workers),
        .base = opts->base,
        .engine_exe = opts->engine_exe,
        .keep = opts->keep,
        .log_dir = opts->log_dir,
        .no_log = opts->no_log,
        .self = self_path(),
    };
    if (opts->dry_run && opts->call.json)
        return cli_usage(&cmd_run, "--dry-run and --json do not go together");
    if (opts->log_dir && opts->no_log)
        return cli_usage(&cmd_run, "--log-dir and --no-log do not go together");
    if (opts->resume && (opts->base || opts->only || opts->log_dir || opts->no_log))
        return cli_usage(&cmd_run, "--resume keeps base, tasks and logs: --base, --only, "
                                   "--log-dir and --no-log do not go together with it");
    if (run_call_check(&opts->call, &cmd_run, &ro) != EXIT_OK)
        return EXIT_USAGE;
    if (!opts->dry_run && detach_is_wanted(&opts->call))
        return detach_go(&opts->call);
    int resumed = opts->resume ? resume_newest(argv[0], opts) : -1;
    if (resumed >= 0)
        return resumed;
    if (plan_open(&pf, argv[0], &opts->plan) != EXIT_OK)
        return EXIT_USAGE;
    autofree bool *wanted = mem_array(pf.plan.task_count, sizeof(*wanted));
    if (opts->only && plan_choose_tasks(&pf.plan, opts->only, wanted))
        return EXIT_USAGE;
    ro.wanted = opts->only ? wanted : NULL;
    return run_call_open(&opts->call, &pf, argv[0], &ro, opts->dry_run);
}

static const struct opt opts_table[] = {
    {"workers", 'j', OPT_COUNT, offsetof(struct run_opts, workers), "N", NULL,
     "Run at most this many agents at the same time"},
    {"max-workers", 0, OPT_COUNT, offsetof(struct run_opts, max_workers), "N", NULL,
     "The same as --workers"},
    {"base", 0, OPT_STRING, offsetof(struct run_opts, base), "BRANCH", NULL,
     "Land on this branch (default: the plan's base, or the branch that is checked out)"},
    {"only", 0, OPT_STRING, offsetof(struct run_opts, only), "TASK,...", NULL,
     "Run only these tasks, as if all others were done"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct run_opts, engine_exe), "PATH", NULL,
     "The engine's program, if it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct run_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of tasks that landed or failed"},
    {"log-dir", 0, OPT_STRING, offsetof(struct run_opts, log_dir), "DIR", NULL,
     "Copy what agents print to TASK-stdout.log and TASK-stderr.log in this folder, without "
     "secrets"},
    {"no-log", 0, OPT_FLAG, offsetof(struct run_opts, no_log), NULL, NULL,
     "Do not keep what agents print, unless their task failed"},
    {"resume", 0, OPT_FLAG, offsetof(struct run_opts, resume), NULL, NULL,
     "Resume the newest run of this plan, if there is one; see anabranch resume"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct run_opts, dry_run), NULL, NULL,
     "Check everything and print what would run, and how; change nothing"},
    RUN_CALL_OPTS(struct run_opts),
    {"json", 0, OPT_FLAG, offsetof(struct run_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .summary = "Run a plan: many agents side by side, and land their results",
    .about =
        "The repository is the one that holds the plan's file (or its 'cwd'), wherever you are; "
        "for a plan on standard input it is the one that you are in.\n\n"
        "Each task runs in a worktree of its own. Its work is committed, verified as the plan "
        "says, and landed on the base branch as soon as it is ready. A task that depends on "
        "others starts from a tree that has their work. Your checkout follows if that touches "
        "no file that you have changed. Nothing lands on a branch while you rebase, merge, "
        "cherry-pick, revert, apply or bisect there: the work is kept on a branch, and the exit "
        "code is 4.\n\n"
        "anabranch checks everything that it can check before it starts anything.\n\n"
        "If a task meets a usage limit of its agent, it waits until the limit resets, and so do "
        "all other tasks of the same engine and account; the agent then resumes its session. "
        "With --no-wait the task fails instead.\n\n"
        "SIGINT, SIGTERM and SIGHUP stop the run: anabranch asks the agents to end and saves "
        "their work; a second signal kills them at once, and also a git that hangs. ^Z also "
        "stops the agents, and their time, until the run continues. Processes that an agent "
        "leaves running are ended with their task, and listed.\n\n"
        "With --detach, and with --dashboard, the run continues in the background, in a session "
        "of its own; its output is in the file run.log in its folder. 'anabranch top' shows it "
        "from any terminal; 'anabranch stop', 'pause' and others steer it.\n\n"
        "If another git holds a lock, anabranch waits up to ten seconds; it gives up a git that "
        "does not end after ten minutes. The environment variable ANABRANCH_PATIENCE sets "
        "another time for both, such as 90s or 15m, and ANABRANCH_COMMAND_TIME sets one for the "
        "plan's setup, teardown and verifications. ANABRANCH_PROVIDER says how workspaces are "
        "made, in place of the plan: auto, overlay, snapshot, pool or checkout.",
    .examples = "anabranch run plan.md\tRun a plan\n"
                "anabranch run -j 8 plan.md\tRun up to eight agents at once\n"
                "anabranch run --dry-run plan.md\tPrint what would run\n"
                "anabranch run --detach plan.md\tRun in the background; 'anabranch top' shows it\n"
                "anabranch run --engine sim plan.md\tUse the built-in scripted agent\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct run_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_run,
};
