#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/run/one_call.h"
#include "sys/fs/file.h"

#include <string.h>

enum { TEXT_MAX = 1 << 20 };

static int run_say(const void *options, char **argv)
{
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    if (strcmp(argv[1], "-") == 0 && file_read_input("-", TEXT_MAX, &text, &err))
        return cli_fail(EXIT_USAGE, "%s", err.msg);
    if (!text.len && strcmp(argv[1], "-") != 0)
        buf_addstr(&text, argv[1]);
    if (strspn(text.s, " \t\r\n") == text.len)
        return cli_usage(&cmd_say, "the text is empty");
    if (memchr(text.s, '\0', text.len) || text_valid(text.s, text.len) < text.len)
        return cli_usage(&cmd_say, "the text is not UTF-8");
    return one_call(&cmd_say, options, argv[0], text.s);
}

static const struct opt opts_table[] = {
    ONE_CALL_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "TASK", .help = "The id of a task that has started"},
    {.name = "TEXT", .help = "The message to its agent; '-' reads it from standard input"},
    {0},
};

const struct command cmd_say = {
    .name = "say",
    .summary = "Send a message to the agent of a task, and land the work that follows",
    .about =
        "The agent resumes its session, with everything that it did before, in its workspace. "
        "If the workspace is gone, anabranch makes it again: on top of all that has landed, if "
        "the task had landed; with the saved work of its last attempt, if it failed. If the "
        "task is in conflict, the agent finds the conflict in its workspace and resolves it. "
        "The work is committed, compared with what the task owns, verified and landed like all "
        "work. A task that has landed stays landed, also if its agent changes nothing more, or if "
        "its further work fails, is stopped or conflicts: the command then exits with 1 or 4.\n\n"
        "Tasks that were skipped because of this one run when it has landed. All others stay as "
        "they are, and the plan is the one that was run. The engine must be able to resume a "
        "session: see 'anabranch engines'. The exit code is about these tasks alone.\n\n"
        "A live run delivers the message itself, and the command does not wait for it. There a "
        "task that failed or is in conflict is resumed; a task that waits, for a limit or for "
        "another attempt, gets the message when it continues, whatever its engine. A working "
        "agent is not interrupted: when it is done, it resumes its session with the message, "
        "before its work is committed and verified. A message is refused if the task has not "
        "started, if it is about to land, or, until the run has ended, if it has landed.",
    .examples = "anabranch say auth \"The tests want a longer timeout\"\tIn the newest run\n"
                "anabranch say auth - --run 20260301-12 <notes.txt\tIn that run\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct one_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_say,
};
