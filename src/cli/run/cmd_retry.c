#include "cli/frame/commands.h"
#include "cli/run/one_call.h"

static int run_retry(const void *options, int argc, char **argv)
{
    (void)argc;
    return one_call(&cmd_retry, options, argv[0], NULL);
}

static const struct opt opts_table[] = {
    {"fresh", 0, OPT_FLAG, offsetof(struct one_opts, fresh), NULL, NULL,
     "From the beginning, in a new session and a new workspace"},
    ONE_CALL_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "TASK", .help = "The id of a task that failed, is in conflict, or changed nothing"},
    {0},
};

const struct command cmd_retry = {
    .name = "retry",
    .summary = "Run a task again that failed, is in conflict, or changed nothing",
    .about =
        "Its agent goes on in its session and its workspace, as with 'anabranch say', and is told "
        "why its last attempt failed; a conflict is laid out for it to resolve. With --fresh, and "
        "where no session can be taken up, the task begins again, on top of all that has landed; "
        "what is in its workspace is saved first.\n\n"
        "Tasks that were skipped because of this one run when it has landed. All others stay as "
        "they are, and the plan is the one that was run: 'anabranch resume' takes it as it is now, "
        "and "
        "runs all that is not done. The exit code is about these tasks alone.\n\n"
        "A run that is going on does that itself, and the command does not wait for it: for a task "
        "that failed, was stopped, is in conflict, or was skipped by a person. One that was "
        "skipped "
        "because of another follows when that is tried again. What has landed, is done, is under "
        "way or waits for its turn is refused.",
    .examples = "anabranch retry auth\tIn its session\n"
                "anabranch retry auth --fresh\tFrom the beginning\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct one_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_retry,
};
