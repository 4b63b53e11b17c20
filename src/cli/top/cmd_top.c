#include "base/mem.h"
#include "cli/common/live_run.h"
#include "cli/frame/commands.h"
#include "cli/top/top.h"

/* Without a word the only one that is going on, or else the newest. */
static int choose(struct lookup *look, const char *word, char **ret_id)
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

static int run_top(const void *options, int argc, char **argv)
{
    autolook struct lookup look;
    autofree char *id = NULL;
    (void)options;
    int code = lookup_open(&look);
    if (code == EXIT_OK)
        code = choose(&look, argc ? argv[0] : NULL, &id);
    return code == EXIT_OK ? top_show(&look, id) : code;
}

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of it, or 'last'; without it the one that is going on, or the "
             "newest",
     .optional = true},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_top = {
    .name = "top",
    .summary = "Watch and steer a run on the whole terminal",
    .about =
        "Shows the tasks of a run with what they do, their time, cost and changed files; one task "
        "with its log, diff and events; the graph, the timeline, who would conflict with whom now, "
        "and the costs. It follows a run that is going on, and shows one that has ended.\n\n"
        "Keys are at the bottom of the screen, and all of them behind '?'. Tasks can be stopped "
        "and skipped, the run paused and continued, workers added and taken, the budget raised, "
        "and a shell or $EDITOR opened in a task's workspace. Before anything that ends work there "
        "is a question. To leave stops nothing.\n\n"
        "Where NO_COLOR is set there are no colours.",
    .examples = "anabranch top\tThe run that is going on\n"
                "anabranch top last\tThe newest one, also when it has ended\n",
    .args = args,
    .exits = exits,
    .see_also = "anabranch-events(7)",
    .run = run_top,
};
