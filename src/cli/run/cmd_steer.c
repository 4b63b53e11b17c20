/*
 * What a person asks of a run that goes on: one command for each verb of run/control/requests.h.
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

static const struct opt run_opts[] = {
    {"run", 0, OPT_STRING, offsetof(struct steer_opts, run), "RUN", NULL,
     "Of this run: its id or the beginning of it; without it the one that is going on"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

static int ask(const struct steer_opts *opts, struct node *request, struct arena *a,
               const char *verb, const char *instead)
{
    node_put_string(a, request, "verb", verb);
    int code = live_run_ask(opts->run, request, instead);
    arena_done(a);
    return code;
}

/* --- tasks -------------------------------------------------------------------------------- */

static int run_stop_command(const void *options, int argc, char **argv)
{
    const struct steer_opts *opts = options;
    struct arena a = {0};
    if (opts->all == (argc > 0))
        return cli_usage(&cmd_stop, opts->all ? "a task and --all do not go together"
                                              : "name a task, or say --all");
    struct node *request = node_new_map(&a);
    if (opts->all)
        node_put_bool(&a, request, "all", true);
    else
        node_put_string(&a, request, "task", argv[0]);
    return ask(opts, request, &a, "stop", "there is nothing to stop");
}

static const struct opt stop_opts[] = {
    {"all", 0, OPT_FLAG, offsetof(struct steer_opts, all), NULL, NULL,
     "Stop the whole run, as Ctrl-C does; a second time it is not asked, but killed"},
    {"run", 0, OPT_STRING, offsetof(struct steer_opts, run), "RUN", NULL,
     "Of this run: its id or the beginning of it; without it the one that is going on"},
    {0},
};

static const struct arg stop_args[] = {
    {.name = "TASK", .help = "The task's id", .optional = true},
    {0},
};

const struct command cmd_stop = {
    .name = "stop",
    .summary = "Stop one task of a run that is going on, or the run",
    .about =
        "Its agent is asked to end, and killed where it does not. What it made is saved: see "
        "'anabranch salvage'. The task has failed then, with class stopped, and what depends on "
        "it is skipped; "
        "the others go on. 'anabranch retry' tries it again.\n\n"
        "A run refuses this, and all other ways to steer it, to programs that run inside a "
        "task: agents do not steer runs.",
    .examples = "anabranch stop auth\tStop the task auth\n"
                "anabranch stop --all\tStop the run\n",
    .args = stop_args,
    .opts = stop_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = exits,
    .see_also = "anabranch-events(7)",
    .run = run_stop_command,
};

static int run_skip(const void *options, int argc, char **argv)
{
    struct arena a = {0};
    struct node *request = node_new_map(&a);
    (void)argc;
    node_put_string(&a, request, "task", argv[0]);
    return ask(options, request, &a, "skip", "'anabranch run --only' runs some tasks alone");
}

static const struct arg task_args[] = {
    {.name = "TASK", .help = "The task's id"},
    {0},
};

const struct command cmd_skip = {
    .name = "skip",
    .summary = "Do not begin a task of a run that is going on",
    .about = "What depends on it is skipped as well. 'anabranch retry' takes that back; "
             "'anabranch resume' runs both when the run has ended.",
    .args = task_args,
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = exits,
    .run = run_skip,
};

/* --- the run ------------------------------------------------------------------------------ */

static int run_pause(const void *options, int argc, char **argv)
{
    struct arena a = {0};
    (void)argc;
    (void)argv;
    return ask(options, node_new_map(&a), &a, "pause", "there is nothing to pause");
}

const struct command cmd_pause = {
    .name = "pause",
    .summary = "Begin no more tasks of a run that is going on, until 'continue'",
    .about = "Agents that are at work go on, and what they make lands.",
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = exits,
    .run = run_pause,
};

static int run_continue(const void *options, int argc, char **argv)
{
    struct arena a = {0};
    (void)argc;
    (void)argv;
    return ask(options, node_new_map(&a), &a, "continue", "'anabranch resume' goes on with it");
}

const struct command cmd_continue = {
    .name = "continue",
    .summary = "Begin tasks of a run again that was paused",
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = exits,
    .run = run_continue,
};

static int run_workers_command(const void *options, int argc, char **argv)
{
    const char *word = argv[0];
    bool by = *word == '+' || *word == '-';
    int64_t n = text_parse_count(word + by, strlen(word + by));
    struct arena a = {0};
    (void)argc;
    if (n < 1 || n > 10000)
        return cli_usage(&cmd_workers, "'%s' is not a number of workers, such as 4, +1 or -1",
                         word);
    struct node *request = node_new_map(&a);
    node_put_int(&a, request, by ? "by" : "n", *word == '-' ? -n : n);
    return ask(options, request, &a, "workers", "'anabranch resume -j N' goes on with it");
}

static const struct arg workers_args[] = {
    {.name = "N", .help = "How many, or how many more (+1) or fewer (-1)"},
    {0},
};

const struct command cmd_workers = {
    .name = "workers",
    .summary = "Change how many agents of a run are at work at the same time",
    .about = "Where that is fewer than are at work, these go on, and no other begins before.",
    .examples = "anabranch workers 8\tUp to eight agents at once\n"
                "anabranch workers -1\tOne fewer than now\n",
    .args = workers_args,
    .opts = run_opts,
    .options_size = sizeof(struct steer_opts),
    .minus_numbers = true,
    .exits = exits,
    .run = run_workers_command,
};

/* --- budgets ------------------------------------------------------------------------------ */

static int run_budget(const void *options, int argc, char **argv)
{
    const struct steer_opts *opts = options;
    struct arena a = {0};
    struct node *request = node_new_map(&a);
    (void)argc;
    if (!amount_put(argv[0], &a, request)) {
        arena_done(&a);
        return cli_usage(&cmd_budget, "'%s' is not an amount, such as 5, $2.50 or '200k tokens'",
                         argv[0]);
    }
    if (opts->task)
        node_put_string(&a, request, "task", opts->task);
    return ask(options, request, &a, "budget",
               "raise 'budget' in its plan, then 'anabranch resume'");
}

static const struct opt budget_opts[] = {
    {"task", 0, OPT_STRING, offsetof(struct steer_opts, task), "TASK", NULL,
     "The budget of this task; without it that of the run"},
    {"run", 0, OPT_STRING, offsetof(struct steer_opts, run), "RUN", NULL,
     "Of this run: its id or the beginning of it; without it the one that is going on"},
    {0},
};

static const struct arg budget_args[] = {
    {.name = "AMOUNT", .help = "What it may use in all: 5 or $2.50, or '200k tokens'"},
    {0},
};

const struct command cmd_budget = {
    .name = "budget",
    .summary = "Raise the budget of a run that is going on, or of one of its tasks",
    .about = "The plan's own budget stays as it is: a run that is gone on with later has that. An "
             "agent that is at work and was told its budget keeps it until its next attempt.",
    .examples = "anabranch budget '$20'\tThe run may cost twenty dollars\n"
                "anabranch budget --task auth '500k tokens'\tThe task auth may use that many\n",
    .args = budget_args,
    .opts = budget_opts,
    .options_size = sizeof(struct steer_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_budget,
};
