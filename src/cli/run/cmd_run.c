#include "base/mem.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "cli/run/detach.h"
#include "cli/run/resume_call.h"
#include "cli/run/run_call.h"
#include "run/run.h"
#include "sys/self_exe.h"
#include "sys/term.h"
#include "view/dry_run_text.h"

#include <unistd.h>

struct run_opts {
    struct plan_opts plan;
    struct run_call call;
    int64_t workers, max_workers;
    const char *base, *only, *engine_exe, *log_dir;
    bool keep, no_log, dry_run, resume;
};

/* --- showing ------------------------------------------------------------------------------ */

static int show_dry_run(const struct run *run, struct plan_file *pf, const bool *wanted)
{
    autobuf struct buf out = BUF_INIT;
    dry_run_text(run, pf, wanted, isatty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0, &out);
    return cli_print(out.s, out.len);
}

/* --- options ------------------------------------------------------------------------------ */

static int go(struct plan_file *pf, const char *path, const struct run_opts *opts,
              struct run_options *ro)
{
    struct err err = {0};
    struct run *run;
    if (run_open(&run, pf, path, ro, &err))
        return cli_fail_by(&err);
    int code = opts->dry_run ? show_dry_run(run, pf, ro->wanted)
                             : run_call_go(&opts->call, run, pf, ro->wanted);
    run_close(run);
    return code;
}

/* The newest run of the plan is gone on with; -1 where there is none yet. */
static int resume(const char *path, const struct run_opts *opts)
{
    autolook struct lookup look = {0};
    struct resume_call rc = {
        .cmd = &cmd_run,
        .call = &opts->call,
        .doc = plan_doc_options(&opts->plan),
        .engine_exe = opts->engine_exe,
        .workers = (size_t)(opts->workers ? opts->workers : opts->max_workers),
        .keep = opts->keep,
        .dry_run = opts->dry_run,
    };
    if (!lookup_is_there())
        return -1;
    int code = lookup_open_mended(&look, !opts->dry_run);
    autofree char *id = code == EXIT_OK ? resume_run_of(&look, path) : NULL;
    return code != EXIT_OK ? code : id ? resume_call(&look, id, &rc) : -1;
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
    if (opts->dry_run && opts->call.json)
        return cli_usage(&cmd_run, "--dry-run and --json do not go together");
    if (opts->log_dir && opts->no_log)
        return cli_usage(&cmd_run, "--log-dir and --no-log do not go together");
    if (opts->resume && (opts->base || opts->only || opts->log_dir || opts->no_log))
        return cli_usage(&cmd_run, "--resume keeps base, tasks and logs as they were: --base, "
                                   "--only, --log-dir and --no-log do not go with it");
    if (run_call_check(&opts->call, &cmd_run, &ro) != EXIT_OK)
        return EXIT_USAGE;
    if (!opts->dry_run && detach_is_wanted(&opts->call))
        return detach_go(&opts->call);
    int resumed = opts->resume ? resume(argv[0], opts) : -1;
    if (resumed >= 0)
        return resumed;
    problems_init(&ps, argv[0]);
    int checked = plan_file_open(&pf, argv[0], &doc, &ps);
    plan_print_problems(&ps);
    if (checked)
        return EXIT_USAGE;
    autofree bool *wanted = mem_array(pf.plan.task_count, sizeof(*wanted));
    if (opts->only && plan_choose_tasks(&pf.plan, opts->only, wanted))
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
    {"engine-exe", 0, OPT_STRING, offsetof(struct run_opts, engine_exe), "PATH", NULL,
     "The engine's program, where it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct run_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of tasks that landed"},
    {"log-dir", 0, OPT_STRING, offsetof(struct run_opts, log_dir), "DIR", NULL,
     "Copy what agents print to TASK-stdout.log and TASK-stderr.log in this folder, without "
     "secrets"},
    {"no-log", 0, OPT_FLAG, offsetof(struct run_opts, no_log), NULL, NULL,
     "Do not keep what agents print, unless their task failed"},
    {"resume", 0, OPT_FLAG, offsetof(struct run_opts, resume), NULL, NULL,
     "Go on with the newest run of this plan, where there is one; see anabranch resume"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct run_opts, dry_run), NULL, NULL,
     "Check everything and say what would be run, and how; change nothing"},
    RUN_CALL_OPTS(struct run_opts),
    {"json", 0, OPT_FLAG, offsetof(struct run_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .summary = "Carry out a plan: agents at work side by side, their results landed",
    .about =
        "The repository is the one that holds the plan's file (or its 'cwd'), wherever you are; "
        "for a plan on standard input it is the one that you are in.\n\n"
        "Each task is done in a worktree of its own, committed, verified as the plan says, and "
        "landed on the base branch as soon as it is ready. A task that depends on others starts "
        "from a tree that has their work. Your checkout follows where that touches no file that "
        "you have changed. Nothing lands on a branch while you rebase, merge, cherry-pick, revert, "
        "apply or bisect there: the work is kept on a branch, and the exit code is 4.\n\n"
        "Everything that can be checked is checked before anything is started.\n\n"
        "A task that meets a usage limit of its agent waits until that resets, and all others of "
        "the same engine and account with it; it then goes on in its session. --no-wait lets it "
        "fail instead.\n\n"
        "SIGINT, SIGTERM and SIGHUP stop the run: agents are asked to end and their work is saved; "
        "a "
        "second one kills them at once, and a git that hangs. ^Z stops the agents as well, and "
        "their time, until the run "
        "goes on. Whatever agents leave running is ended with their task, and named.\n\n"
        "With --detach the run goes on in the background, in a session of its own, and with "
        "--dashboard as well; what it says is in the file run.log in its folder. 'anabranch top' "
        "shows it from any terminal, and 'anabranch stop', 'pause' and others steer it.\n\n"
        "A lock that another git holds is waited for, ten seconds long; a git that does not end is "
        "given up after ten minutes. The environment variable ANABRANCH_PATIENCE gives another "
        "time for both, such as 90s or 15m, and ANABRANCH_COMMAND_TIME one for the plan's setup, "
        "teardown and verifications. ANABRANCH_PROVIDER says how workspaces are made, in place of "
        "the plan: auto, overlay, snapshot, pool or checkout.",
    .examples = "anabranch run plan.md\tRun a plan\n"
                "anabranch run -j 8 plan.md\tWith up to eight agents at once\n"
                "anabranch run --dry-run plan.md\tSay what would be run\n"
                "anabranch run --detach plan.md\tIn the background; 'anabranch top' shows it\n"
                "anabranch run --engine sim plan.md\tWith the built-in scripted agent\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct run_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_run,
};
