/*
 * The commands that steer a live run, one for each verb of run/control/requests.h.
 */
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/common/amount.h"
#include "cli/common/live_run.h"
#include "cli/frame/commands.h"

#include <string.h>

struct steer_opts {
    const char *run, *task;
    bool all;
};

#define RUN_OPT                                                                                    \
    {                                                                                              \
        "run", 0, OPT_STRING, offsetof(struct steer_opts, run), "RUN", NULL,                       \
            "The run's id, or the beginning of it (default: the live run)"                         \
    }

static const struct opt run_opts[] = {RUN_OPT, {0}};

static int send_request(const struct steer_opts *opts, struct node *request, struct arena *a,
                        const char *verb, const char *instead)
{
    node_put_string(a, request, "verb", verb);
    return live_run_ask(opts->run, request, instead);
}

static int run_stop_command(const void *options, char **argv)
{
    const struct steer_opts *opts = options;
    autoarena struct arena a = {0};
    if (opts->all == (argv[0] != NULL))
        return cli_usage(&cmd_stop, opts->all ? "a task and --all do not go together"
                                              : "name a task, or use --all");
    struct node *request = node_new_map(&a);
    if (opts->all)
        node_put_bool(&a, request, "all", true);
    else
        node_put_string(&a, request, "task", argv[0]);
    return send_request(opts, request, &a, "stop", "there is nothing to stop");
}

static const struct opt stop_opts[] = {
    {"all", 0, OPT_FLAG, offsetof(struct steer_opts, all), NULL, NULL,
     "Stop the whole run, as SIGTERM does; a second time, kill its agents"},
    RUN_OPT,
    {0},
};

static const struct arg stop_args[] = {
    {.name = "TASK", .help = "The task's id", .optional = true},
    {0},
};

const struct command cmd_stop = {
    .name = "stop",
    .summary = "Stop one task of a live run, or the whole run",
    .about = "anabranch asks the agent to end, and kills it if it does not. The agent's work is "
             "saved: see 'anabranch salvage'. The task then has failed, with class stopped, and "
             "tasks that depend on it are skipped; the others continue. 'anabranch retry' tries it "
             "again.\n\n"
             "A run refuses this and every other steering command from programs that run inside a "
             "task: agents do not steer runs.",
    .examples = "anabranch stop auth\tStop the task auth\n"
                "anabranch stop --all\tStop the run\n",
    .args = stop_args,
    .opts = stop_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_stop_command,
};

static int run_skip(const void *options, char **argv)
{
    autoarena struct arena a = {0};
    struct node *request = node_new_map(&a);
    node_put_string(&a, request, "task", argv[0]);
    return send_request(options, request, &a, "skip",
                        "'anabranch run --only' runs some tasks alone");
}

const struct command cmd_skip = {
    .name = "skip",
    .summary = "Do not start a task of a live run",
    .about =
        "Tasks that depend on it are skipped too. 'anabranch retry' undoes the skip; after the "
        "run has ended, 'anabranch resume' runs all of them.",
    .args = lookup_task_args,
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = cli_usual_exits,
    .run = run_skip,
};

static int run_pause(const void *options, char **argv)
{
    autoarena struct arena a = {0};
    (void)argv;
    return send_request(options, node_new_map(&a), &a, "pause", "there is nothing to pause");
}

const struct command cmd_pause = {
    .name = "pause",
    .summary = "Start no more tasks of a live run, until 'continue'",
    .about = "Working agents continue, and their results land.",
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = cli_usual_exits,
    .run = run_pause,
};

static int run_continue(const void *options, char **argv)
{
    autoarena struct arena a = {0};
    (void)argv;
    return send_request(options, node_new_map(&a), &a, "continue", "'anabranch resume' resumes it");
}

const struct command cmd_continue = {
    .name = "continue",
    .summary = "Start tasks of a paused run again",
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = cli_usual_exits,
    .run = run_continue,
};

static int run_workers_command(const void *options, char **argv)
{
    const char *word = argv[0];
    bool by = *word == '+' || *word == '-';
    int64_t n = text_parse_count(word + by, strlen(word + by));
    autoarena struct arena a = {0};
    if (n < 1 || n > 10000)
        return cli_usage(&cmd_workers, "'%s' is not a number of workers, such as 4, +1 or -1",
                         word);
    struct node *request = node_new_map(&a);
    node_put_int(&a, request, by ? "by" : "n", *word == '-' ? -n : n);
    return send_request(options, request, &a, "workers", "'anabranch resume -j N' resumes it");
}

static const struct arg workers_args[] = {
    {.name = "N", .help = "The number of agents, or how many more (+1) or fewer (-1)"},
    {0},
};

const struct command cmd_workers = {
    .name = "workers",
    .summary = "Change how many agents of a live run work at the same time",
    .about =
        "If more agents than that are working, they continue, and no other starts until enough of "
        "them are done.",
    .examples = "anabranch workers 8\tUp to eight agents at once\n"
                "anabranch workers -1\tOne agent fewer than now\n",
    .args = workers_args,
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .negative_numbers = true,
    .exits = cli_usual_exits,
    .run = run_workers_command,
};

static int run_budget(const void *options, char **argv)
{
    const struct steer_opts *opts = options;
    autoarena struct arena a = {0};
    struct node *request = node_new_map(&a);
    if (!amount_put(argv[0], &a, request))
        return cli_usage(&cmd_budget, "'%s' is not an amount, such as 5, $2.50 or '200k tokens'",
                         argv[0]);
    if (opts->task)
        node_put_string(&a, request, "task", opts->task);
    return send_request(options, request, &a, "budget",
                        "raise 'budget' in its plan, then 'anabranch resume'");
}

static const struct opt budget_opts[] = {
    {"task", 0, OPT_STRING, offsetof(struct steer_opts, task), "TASK", NULL,
     "Raise the budget of this task (default: the budget of the run)"},
    RUN_OPT,
    {0},
};

static const struct arg budget_args[] = {
    {.name = "AMOUNT", .help = "The new total: 5 or $2.50, or '200k tokens'"},
    {0},
};

const struct command cmd_budget = {
    .name = "budget",
    .summary = "Raise the budget of a live run, or of one of its tasks",
    .about =
        "The plan's own budget does not change: if you resume the run later, that budget applies "
        "again. If a working agent was given its budget, it keeps that until its next attempt.",
    .examples =
        "anabranch budget '$20'\tThe run may cost twenty dollars\n"
        "anabranch budget --task auth '500k tokens'\tThe task auth may use that many tokens\n",
    .args = budget_args,
    .opts = budget_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_budget,
};
