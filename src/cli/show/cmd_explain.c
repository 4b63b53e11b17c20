/*
 * What the classes of failure mean: when a task has one, what is done about it where the plan does
 * not say, and what a person can do.
 */
#include "base/node/node_build.h"
#include "cli/frame/commands.h"
#include "cli/frame/output.h"
#include "doc/doc.h"
#include "plan/failure.h"
#include "run/run.h"

#include <string.h>

struct explain_opts {
    bool json;
};

static const struct {
    const char *means, *advice;
} words[FAILURE_COUNT_] = {
    [FAILURE_AUTH] = {"The model does not accept the agent's key or login, there is none, or the "
                      "account has nothing left to pay with.",
                      "Log in with the agent's own program, set its key, or add credit; then "
                      "'anabranch resume'."},
    [FAILURE_LIMIT] = {"A usage or rate limit of the account is reached.",
                       "Where it is known when the limit resets, the task waits for that. "
                       "'retry: {limit: fail}' does not wait."},
    [FAILURE_OVERLOADED] = {"The model's servers are busy.", "It mostly goes away by itself."},
    [FAILURE_TRANSIENT] = {"The agent ended badly, or a connection was lost, for no reason that "
                           "says more.",
                           "'anabranch logs TASK' shows what it said last."},
    [FAILURE_TIMEOUT] = {"The agent took longer than the task's 'timeout', or as many turns as it "
                         "may.",
                         "Give it longer, or divide the task. What it made is in 'anabranch "
                         "salvage list'."},
    [FAILURE_IDLE] =
        {"The agent said nothing for longer than 'idle_timeout' while no tool of it "
         "worked, or waited for a person, who is not there to answer.",
         "See 'permissions' where it asked for one; 'anabranch logs TASK' shows what it "
         "said last."},
    [FAILURE_REFUSED] =
        {"The agent or its model declined to do it, or the model's API did not take the request.",
         "Put the prompt differently."},
    [FAILURE_CONTEXT] = {"The conversation does not fit into the model's context, and the agent "
                         "could not shorten it.",
                         "Divide the task, give it less to read, or name a model with a larger "
                         "context. What it made is in 'anabranch salvage list'."},
    [FAILURE_BUDGET] = {"The budget of the task or of the run is used up, or was when the agent "
                        "had ended.",
                        "Raise 'budget' in the plan, or let what has ended land by 'landing: "
                        "{budget: warn}'; then 'anabranch resume'. 'anabranch cost' "
                        "shows what was used."},
    [FAILURE_NO_CHANGE] = {"The agent ended well and changed nothing.",
                           "If that is right, say 'read_only: true'. It may also have been denied "
                           "its tools: see 'permissions'."},
    [FAILURE_SCOPE] = {"The agent changed paths that the task does not own, or more than "
                       "'limits.change' allows, or its work would undo what others have landed.",
                       "Widen 'owns', or take the work that is kept on its branch. 'enforce: warn' "
                       "lets work outside 'owns' land; 'retry: {scope: 1}' tells the agent, in its "
                       "session, which paths to give back. Work that would undo others' goes back "
                       "once where the plan does not say."},
    [FAILURE_VERIFY] =
        {"'verify' or a commit hook failed on what would have landed.",
         "The output is sent back to the agent in its session. 'anabranch logs --verify "
         "TASK' shows it. When the run is over, 'anabranch retry TASK' and "
         "'anabranch say TASK' resume the agent."},
    [FAILURE_CONFLICT] = {"The work does not merge with what has landed meanwhile.",
                          "Merge its branch by hand: the summary names it. 'retry: {conflict: "
                          "repair}' in the plan, or 'anabranch retry TASK', lets its agent resolve "
                          "it."},
    [FAILURE_SETUP] = {"The workspace could not be made ready, or the agent's program or "
                       "'verify' could not be started as asked.",
                       "See 'workspace.setup' and 'verify', and 'anabranch doctor'. Work that "
                       "could not be verified is saved: 'anabranch resume' verifies and lands it, "
                       "without its agent."},
    [FAILURE_STOPPED] =
        {"A person stopped the task, or the run that it was part of.",
         "'anabranch retry TASK' runs it again, 'anabranch resume' all that is left."},
    [FAILURE_INTERNAL] =
        {"anabranch, git or the machine failed, or the task used more than 'limits' "
         "allows: memory, processes or output.",
         "The reason is in the summary; then 'anabranch resume'."},
};

static void add_policy(struct buf *out, enum failure f)
{
    int times = run_default_retries(f);
    if (f == FAILURE_LIMIT)
        buf_addf(out,
                 "it waits until the limit resets; where that is not known, up to %d more "
                 "attempts",
                 times);
    else if (times)
        buf_addf(out, "up to %d more attempt%s", times, times == 1 ? "" : "s");
    else
        buf_addstr(out, "the task fails");
}

static void add_class(struct buf *out, enum failure f)
{
    buf_addf(out, "%s\n  %s\n  Where the plan does not say: ", failure_names[f], words[f].means);
    add_policy(out, f);
    buf_addf(out, ".\n  %s\n", words[f].advice);
}

static void add_json(struct buf *out, enum failure f)
{
    struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "class", failure_names[f]);
    node_put_string(&a, map, "means", words[f].means);
    node_put_int(&a, map, "retries", run_default_retries(f));
    node_put_string(&a, map, "advice", words[f].advice);
    doc_write_line(out, map);
    buf_addch(out, '\n');
    arena_done(&a);
}

static int run_explain(const void *options, int argc, char **argv)
{
    const struct explain_opts *opts = options;
    autobuf struct buf out = BUF_INIT;
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (argc && strcmp(argv[0], failure_names[f]) != 0)
            continue;
        if (out.len && !opts->json)
            buf_addch(&out, '\n');
        (opts->json ? add_json : add_class)(&out, (enum failure)f);
    }
    return cli_print(out.s, out.len);
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct explain_opts, json), NULL, NULL,
     "Print one class per line, as JSON"},
    {0},
};

static const struct arg args[] = {
    {.name = "CLASS", .help = "One class alone", .optional = true, .choices = failure_names},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_OK};

const struct command cmd_explain = {
    .name = "explain",
    .summary = "Say what a class of failure means, and what to do about it",
    .about = "A task that fails has a class, which decides whether it is tried again. A plan's "
             "'retry' changes that, class by class.",
    .examples = "anabranch explain verify\tOne of them\n"
                "anabranch explain\tAll of them\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct explain_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_explain,
};
