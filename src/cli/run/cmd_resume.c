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

static int run_resume(const void *options, int argc, char **argv)
{
    const struct resume_opts *opts = options;
    autolook struct lookup look;
    struct resume_call rc = {
        .cmd = &cmd_resume,
        .call = &opts->call,
        .doc = plan_doc_options(&opts->plan_opts),
        .plan = opts->plan,
        .engine_exe = opts->engine_exe,
        .workers = (size_t)opts->workers,
        .keep = opts->keep,
        .saved = opts->saved,
        .keep_failed = opts->keep_failed,
        .dry_run = opts->dry_run,
    };
    int code = lookup_open_mended(&look, !opts->dry_run);
    if (code == EXIT_OK && !opts->dry_run && live_run_continue(&look, argc ? argv[0] : NULL, &code))
        return code;
    if (code == EXIT_OK && opts->saved && opts->plan)
        code = cli_usage(&cmd_resume, "--saved and --plan do not go together");
    if (code == EXIT_OK && !opts->dry_run && detach_is_wanted(&opts->call))
        return detach_go(&opts->call);
    return code == EXIT_OK ? resume_call(&look, argc ? argv[0] : NULL, &rc) : code;
}

static const struct opt opts_table[] = {
    {"dry-run", 0, OPT_FLAG, offsetof(struct resume_opts, dry_run), NULL, NULL,
     "Say what would be done with each task; change nothing"},
    {"plan", 0, OPT_STRING, offsetof(struct resume_opts, plan), "FILE", NULL,
     "The plan is in this file now"},
    {"saved", 0, OPT_FLAG, offsetof(struct resume_opts, saved), NULL, NULL,
     "Use the plan as it was run, whatever its file says now"},
    {"keep-failed", 0, OPT_FLAG, offsetof(struct resume_opts, keep_failed), NULL, NULL,
     "Do not run again what failed"},
    {"workers", 'j', OPT_COUNT, offsetof(struct resume_opts, workers), "N", NULL,
     "Agents at work at the same time"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct resume_opts, engine_exe), "PATH", NULL,
     "The engine's program, where it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct resume_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of tasks that land"},
    RUN_CALL_OPTS(struct resume_opts),
    {"json", 0, OPT_FLAG, offsetof(struct resume_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON; with --dry-run, what would be done"},
    PLAN_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of it, or 'last'; without it the newest one that is not "
             "finished well",
     .optional = true},
    {0},
};

const struct command cmd_resume = {
    .name = "resume",
    .summary = "Go on with a run that was cut off, stopped, or did not finish well",
    .about =
        "What has landed stays, and is never run or landed again. What was committed lands; an "
        "agent whose session can be taken up again goes on in its workspace, one that met a usage "
        "limit not before that resets; every other task "
        "that is not done runs again, also those that failed or were skipped. A conflict that was "
        "resolved meanwhile counts as landed, or lands. What an agent had made in a workspace "
        "that goes is saved first. Where the machine was restarted while the run was going on, "
        "files "
        "that were written last may be missing: what was not committed is saved, and begins "
        "again.\n\n"
        "Where the plan's file was edited since, tasks whose text is the same keep their result. "
        "Those whose text is another run again, and so do tasks that need them, unless they have "
        "landed; a task that had landed itself runs again on top of that. New ones are added, and "
        "those that are gone are dropped. Engine, model, permissions, estimate, limits of time and "
        "money, retries, group and order are not of the text. What will be done is said first.\n\n"
        "A saved plan (plan.json and run.json in the run's folder) that another program has "
        "changed "
        "is refused. A run that was killed before it began has nothing to resume: its folder is "
        "removed.\n\n"
        "A run that is going on and was paused begins tasks again, as by 'anabranch "
        "continue'.\n\n"
        "The run keeps its id, its base branch and the options that it was started with.",
    .examples = "anabranch resume\tThe newest run that did not finish well\n"
                "anabranch resume --dry-run\tOnly say what would be done\n"
                "anabranch resume --saved 20260301-12\tThat run, with its plan as it was\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct resume_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_resume,
};
