#include "cli/common/live_run.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "cli/run/detach.h"
#include "cli/run/resume_call.h"

struct resume_opts {
    struct plan_opts plan_opts;
    struct run_call call;
    int64_t workers;
    const char *plan, *engine_exe;
    bool keep, keep_failed, saved, dry_run;
};

static int run_resume(const void *options, char **argv)
{
    const struct resume_opts *opts = options;
    autolook struct lookup look;
    struct resume_call rc = {
        .cmd = &cmd_resume,
        .run_call = &opts->call,
        .doc = plan_doc_options(&opts->plan_opts),
        .plan = opts->plan,
        .engine_exe = opts->engine_exe,
        .workers = (size_t)opts->workers,
        .keep = opts->keep,
        .saved = opts->saved,
        .keep_failed = opts->keep_failed,
        .dry_run = opts->dry_run,
    };
    int code = lookup_open_repair(&look, !opts->dry_run);
    if (code == EXIT_OK && !opts->dry_run && live_run_continue(&look, argv[0], &code))
        return code;
    if (code == EXIT_OK && opts->saved && opts->plan)
        code = cli_usage(&cmd_resume, "--saved and --plan do not go together");
    if (code == EXIT_OK && !opts->dry_run && detach_is_wanted(&opts->call))
        return detach_go(&opts->call);
    return code == EXIT_OK ? resume_call(&look, argv[0], &rc) : code;
}

static const struct opt opts_table[] = {
    {"dry-run", 0, OPT_FLAG, offsetof(struct resume_opts, dry_run), NULL, NULL,
     "Print what would be done with each task; change nothing"},
    {"plan", 0, OPT_STRING, offsetof(struct resume_opts, plan), "FILE", NULL,
     "Read the plan from this file now"},
    {"saved", 0, OPT_FLAG, offsetof(struct resume_opts, saved), NULL, NULL,
     "Use the saved plan of the run, and ignore changes to its file"},
    {"keep-failed", 0, OPT_FLAG, offsetof(struct resume_opts, keep_failed), NULL, NULL,
     "Do not run failed tasks again"},
    {"workers", 'j', OPT_COUNT, offsetof(struct resume_opts, workers), "N", NULL,
     "Run at most this many agents at the same time"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct resume_opts, engine_exe), "PATH", NULL,
     "The engine's program, if it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct resume_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of tasks that land or fail"},
    RUN_CALL_OPTS(struct resume_opts),
    {"json", 0, OPT_FLAG, offsetof(struct resume_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON; with --dry-run, print what would be done"},
    PLAN_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of its id, or 'last' (default: the newest run that did not "
             "succeed)",
     .optional = true},
    {0},
};

const struct command cmd_resume = {
    .name = "resume",
    .summary = "Resume a run that was cut off, stopped, or did not succeed",
    .about =
        "Landed tasks stay landed, and never run or land again. Committed work lands. If an "
        "agent's session can be resumed, the agent resumes it in its workspace; after a usage "
        "limit it waits until the limit resets. Every other unfinished task runs again, also if "
        "it failed or was skipped. If you resolved a conflict meanwhile, its work counts as "
        "landed, or lands. Before anabranch removes a workspace, it saves the agent's work. If "
        "the machine restarted during the run, the files that were written last may be missing: "
        "anabranch saves uncommitted work, and restarts the task from scratch.\n\n"
        "If the plan's file was edited since, tasks with the same text keep their result. Tasks "
        "with another text run again, and so do tasks that need them, unless they have landed; "
        "a changed task that had landed itself runs again on top of its landed work. New tasks "
        "are added, and removed tasks are dropped. Engine, model, permissions, estimate, limits "
        "of time and money, retries, group and order are not part of the text. The command "
        "prints what it will do before it starts.\n\n"
        "The command refuses a saved plan (plan.json and run.json in the run's folder) that "
        "another program has changed. A run that was killed before it began has nothing to "
        "resume: its folder is removed.\n\n"
        "A live run that was paused starts tasks again, as with 'anabranch continue'.\n\n"
        "The run keeps its id, its base branch and the options that it was started with.",
    .examples = "anabranch resume\tResume the newest run that did not succeed\n"
                "anabranch resume --dry-run\tOnly print what would be done\n"
                "anabranch resume --saved 20260301-12\tResume that run with its saved plan\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct resume_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_resume,
};
