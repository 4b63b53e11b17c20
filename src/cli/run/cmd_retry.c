#include "cli/frame/commands.h"
#include "cli/run/one_call.h"

static int run_retry(const void *options, char **argv)
{
    return one_call(&cmd_retry, options, argv[0], NULL);
}

static const struct opt opts_table[] = {
    {"fresh", 0, OPT_FLAG, offsetof(struct one_opts, fresh), NULL, NULL,
     "Restart from scratch, in a new session and a new workspace"},
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
        "The agent resumes its session in its workspace, as with 'anabranch say', and reads why "
        "its last attempt failed; if the task is in conflict, the agent finds the conflict in "
        "its workspace and resolves it. With --fresh, or if no session can be resumed, the task "
        "restarts from scratch, on top of all that has landed; anabranch first saves the work "
        "in its workspace.\n\n"
        "Tasks that were skipped because of this one run when it has landed. All others stay as "
        "they are. The command uses the plan as it was run; 'anabranch resume' reads the plan "
        "as it is now, and runs everything that is not done. The exit code is about these tasks "
        "alone.\n\n"
        "A live run retries the task itself, and the command does not wait for it. The task "
        "must have failed, been stopped, be in conflict, or have been skipped by a person. A "
        "task that was skipped because of another one runs when that one is retried. The run "
        "refuses a task that has landed, is done, is running or waits to start.",
    .examples = "anabranch retry auth\tResume its session\n"
                "anabranch retry auth --fresh\tRestart from scratch\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct one_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_retry,
};
