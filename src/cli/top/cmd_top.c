#include "base/mem.h"
#include "cli/common/live_run.h"
#include "cli/frame/commands.h"
#include "cli/top/top.h"

/* Without a name we choose the only live run, or else the newest run. */
static int choose_run(struct lookup *look, const char *word, char **ret_id)
{
    autoreport struct report r = {0};
    char *dir = NULL;
    if (!word && live_run_only(look, ret_id, &dir)) {
        free(dir);
        return EXIT_OK;
    }
    int code = lookup_run(look, word, &r);
    if (code == EXIT_OK)
        *ret_id = mem_str(r.row.id);
    return code;
}

static int run_top(const void *options, char **argv)
{
    autolook struct lookup look;
    autofree char *id = NULL;
    (void)options;
    int code = lookup_open(&look);
    if (code == EXIT_OK)
        code = choose_run(&look, argv[0], &id);
    return code == EXIT_OK ? top_show(&look, id) : code;
}

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of its id, or 'last' (default: the live run, or the newest)",
     .optional = true},
    {0},
};

const struct command cmd_top = {
    .name = "top",
    .summary = "Watch and steer a run on the whole terminal",
    .about =
        "Shows the tasks of a run with their activity, time, cost and changed files; one task "
        "with its log, diff and events; the graph, the timeline, conflicts between tasks as of "
        "now, and the costs. It follows a live run, and shows one that has ended.\n\n"
        "The keys are at the bottom of the screen; '?' shows all of them. You can stop and skip "
        "tasks, pause and continue the run, change the number of agents, raise the budget, and "
        "open a shell or $EDITOR in a task's workspace. Before an action ends work, the "
        "dashboard asks you. Leaving it stops nothing.\n\n"
        "If NO_COLOR is set, it uses no colours.",
    .examples = "anabranch top\tWatch the live run\n"
                "anabranch top last\tShow the newest run, even if it has ended\n",
    .args = args,
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_top,
};
