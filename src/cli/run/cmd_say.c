#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/run/one_call.h"
#include "sys/fs/file.h"

#include <string.h>

enum { TEXT_MAX = 1 << 20 };

static int run_say(const void *options, int argc, char **argv)
{
    (void)argc;
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    if (strcmp(argv[1], "-") == 0 && file_read_input("-", TEXT_MAX, &text, &err))
        return cli_fail(EXIT_USAGE, "%s", err.msg);
    if (!text.len && strcmp(argv[1], "-") != 0)
        buf_addstr(&text, argv[1]);
    if (strspn(text.s, " \t\r\n") == text.len)
        return cli_usage(&cmd_say, "there is nothing to say");
    if (memchr(text.s, '\0', text.len) || text_valid(text.s, text.len) < text.len)
        return cli_usage(&cmd_say, "what is to be said is not UTF-8 text");
    return one_call(&cmd_say, options, argv[0], text.s);
}

static const struct opt opts_table[] = {
    ONE_CALL_OPTS,
    {0},
};

static const struct arg args[] = {
    {.name = "TASK", .help = "The id of a task that was begun"},
    {.name = "TEXT", .help = "What its agent is told; '-' is the standard input"},
    {0},
};

const struct command cmd_say = {
    .name = "say",
    .summary = "Tell the agent of a task something more, and land what it makes of it",
    .about =
        "The agent goes on in its session, which knows all that it did before, in its workspace. "
        "Where that is gone, it is made again: with all that has landed, where the task had; with "
        "what was saved of its last attempt, where it failed. A conflict is laid out in it for the "
        "agent to resolve. What the agent makes is committed, compared with what the task owns, "
        "verified and landed like all work. A task that has landed stays landed, also where its "
        "agent changes nothing more.\n\n"
        "Tasks that were skipped because of this one run when it has landed. All others stay as "
        "they are, and the plan is the one that was run. The engine must be one that can take up a "
        "session: 'anabranch engines' tells. The exit code is about these tasks alone.\n\n"
        "A run that is going on does that itself, and the command does not wait for it. There a "
        "task that failed or is in conflict is taken up again; one that waits, for a limit or for "
        "another attempt, hears the text when it goes on, whatever its engine. An agent that is at "
        "work is not interrupted: when it is done, it goes on in its session with the text, before "
        "what it made is committed and verified. Nothing can be said to a task that has not begun, "
        "that is about to land, or, until the run has ended, that has landed.",
    .examples = "anabranch say auth \"The tests want a longer timeout\"\tOf the newest run\n"
                "anabranch say auth - --run 20260301-12 <notes.txt\tOf that run\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct one_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_say,
};
