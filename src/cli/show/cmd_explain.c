/*
 * The classes of failure: the meaning of each, the default reaction, and advice for people.
 */
#include "base/node/node_build.h"
#include "cli/frame/commands.h"
#include "cli/frame/output.h"
#include "doc/doc.h"
#include "plan/engine/attempt/retry.h"
#include "plan/failure.h"

#include <string.h>

struct explain_opts {
    bool json;
};

static const struct {
    const char *means, *advice;
} words[FAILURE_COUNT_] = {
    [FAILURE_AUTH] = {"The model does not accept the agent's key or login, there is none, or the "
                      "account has no credit left.",
                      "Log in with the agent's own program, set its key, or add credit; then "
                      "'anabranch resume'."},
    [FAILURE_LIMIT] = {"A usage or rate limit of the account is reached.",
                       "If anabranch knows when the limit resets, the task waits for that. "
                       "'retry: {limit: fail}' does not wait."},
    [FAILURE_OVERLOADED] = {"The model's servers are busy.", "It mostly recovers by itself."},
    [FAILURE_TRANSIENT] = {"The agent ended with an error, or a connection was lost, for an "
                           "unknown reason.",
                           "'anabranch logs TASK' shows its last output."},
    [FAILURE_TIMEOUT] = {"The agent took longer than the task's 'timeout', or as many turns as it "
                         "may.",
                         "Give it longer, or divide the task. 'anabranch salvage list' shows "
                         "its saved work."},
    [FAILURE_IDLE] =
        {"The agent printed nothing for longer than 'idle_timeout' while none of its tools "
         "worked, or it waited for an answer from a person, which nobody can give.",
         "If it asked for a permission, see 'permissions'. 'anabranch logs TASK' shows its last "
         "output."},
    [FAILURE_REFUSED] =
        {"The agent or its model declined the task, or the model's API refused the request.",
         "Rephrase the prompt."},
    [FAILURE_CONTEXT] = {"The conversation does not fit into the model's context, and the agent "
                         "could not shorten it.",
                         "Divide the task, give it less to read, or name a model with a larger "
                         "context. 'anabranch salvage list' shows its saved work."},
    [FAILURE_BUDGET] = {"The budget of the task or of the run is used up, or was used up when the "
                        "agent had ended.",
                        "Raise 'budget' in the plan, or use 'landing: {budget: warn}' to land the "
                        "work of agents that have ended; then 'anabranch resume'. 'anabranch "
                        "cost' shows the usage."},
    [FAILURE_NO_CHANGE] = {"The agent succeeded and changed nothing.",
                           "If that is right, set 'read_only: true'. Perhaps the agent was not "
                           "allowed to use its tools: see 'permissions'."},
    [FAILURE_SCOPE] = {"The agent changed paths that the task does not own, or more than "
                       "'limits.change' allows, or its work would undo what others have landed.",
                       "Widen 'owns', or use the work that is kept on its branch. 'enforce: warn' "
                       "lets work outside 'owns' land; with 'retry: {scope: 1}' the agent resumes "
                       "its session and reads which paths to revert. By default, work that would "
                       "undo others' work is sent back to the agent once."},
    [FAILURE_VERIFY] =
        {"'verify' or a commit hook failed on the work that was about to land.",
         "The output is sent back to the agent in its session. 'anabranch logs --verify "
         "TASK' shows it. When the run is over, 'anabranch retry TASK' and "
         "'anabranch say TASK' resume the agent."},
    [FAILURE_CONFLICT] = {"The work conflicts with work that has landed meanwhile.",
                          "Merge its branch by hand: the summary names it. 'retry: {conflict: "
                          "repair}' in the plan, or 'anabranch retry TASK', lets its agent resolve "
                          "it."},
    [FAILURE_SETUP] = {"anabranch could not prepare the workspace, or could not start the "
                       "agent's program or 'verify'.",
                       "See 'workspace.setup' and 'verify', and 'anabranch doctor'. Work that "
                       "could not be verified is saved: 'anabranch resume' verifies and lands it, "
                       "without its agent."},
    [FAILURE_STOPPED] =
        {"A person stopped the task, or the run that it was part of.",
         "'anabranch retry TASK' runs it again, 'anabranch resume' runs all unfinished tasks."},
    [FAILURE_INTERNAL] =
        {"anabranch, git or the machine failed, or the task used more than 'limits' "
         "allows: memory, processes or output.",
         "The reason is in the summary; then 'anabranch resume'."},
};

static void add_policy(struct buf *out, enum failure f)
{
    int times = retry_default_times(f);
    if (f == FAILURE_LIMIT)
        buf_addf(out,
                 "the task waits until the limit resets; if that time is not known, up to %d "
                 "more attempts",
                 times);
    else if (times)
        buf_addf(out, "up to %d more attempt%s", times, times == 1 ? "" : "s");
    else
        buf_addstr(out, "the task fails");
}

static void add_class(struct buf *out, enum failure f)
{
    buf_addf(out, "%s\n  %s\n  By default: ", failure_names[f], words[f].means);
    add_policy(out, f);
    buf_addf(out, ".\n  %s\n", words[f].advice);
}

static void add_json(struct buf *out, enum failure f)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "class", failure_names[f]);
    node_put_string(&a, map, "means", words[f].means);
    node_put_int(&a, map, "retries", retry_default_times(f));
    node_put_string(&a, map, "advice", words[f].advice);
    doc_write_whole_line(out, map);
}

static int run_explain(const void *options, char **argv)
{
    const struct explain_opts *opts = options;
    autobuf struct buf out = BUF_INIT;
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (argv[0] && strcmp(argv[0], failure_names[f]) != 0)
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
    {.name = "CLASS",
     .help = "Explain only this class",
     .optional = true,
     .choices = failure_names},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_OK};

const struct command cmd_explain = {
    .name = "explain",
    .summary = "Explain a class of failure, and what to do about it",
    .about = "Every failure has a class, which decides if the task is retried. The plan's 'retry' "
             "changes that for each class.",
    .examples = "anabranch explain verify\tExplain one class\n"
                "anabranch explain\tExplain all classes\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct explain_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_explain,
};
