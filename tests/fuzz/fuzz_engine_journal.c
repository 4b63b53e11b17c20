/*
 * The journal of an engine comes from a file that an agent may have reached. Whatever its lines
 * are, a replay refuses them, or its engine stays whole.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "plan/engine/engine_journal.h"

#include <string.h>

enum { TASKS = 3, LANES = 2 };

static uint32_t first[] = {0};
static struct task tasks[TASKS] = {
    {.id = "a", .index = 0, .order = INT64_MIN, .estimate = PLAN_UNSET},
    {.id = "b", .index = 1, .order = 1, .estimate = PLAN_UNSET, .deps = first, .dep_count = 1},
    {.id = "c", .index = 2, .order = INT64_MIN, .estimate = PLAN_UNSET},
};
static struct plan plan = {.tasks = tasks,
                           .task_count = TASKS,
                           .overlap = OVERLAP_ALLOW,
                           .land_at = LAND_AT_EACH,
                           .budget = {.usd = PLAN_UNSET, .tokens = PLAN_UNSET}};

static void set_unset(void)
{
    for (size_t t = 0; t < TASKS; t++) {
        tasks[t].budget = (struct budget){.usd = PLAN_UNSET, .tokens = PLAN_UNSET};
        for (int f = 0; f < FAILURE_COUNT_; f++)
            tasks[t].retry.times[f] = PLAN_UNSET;
    }
}

/* The first line of the journal of an engine of this plan. */
static void begin(struct buf *out, struct graph *graph, struct claims *claims)
{
    struct engine e;
    engine_init(&e, &plan, false);
    engine_schedule(&e, graph, claims, 2, NULL);
    engine_make_lanes(&e, LANES);
    for (uint32_t t = 0; t < TASKS; t++)
        engine_set_lanes(&e, t, 0, t ? 1 : -1);
    engine_journal_begin(out, &e, NULL);
    engine_done(&e);
}

static void replay(const char *text, struct graph *graph, struct claims *claims)
{
    struct engine e = {0};
    struct err err = {0};
    struct engine_replay r = {.plan = &plan, .graph = graph, .claims = claims, .engine = &e};
    if (engine_replay_text(&r, text, &err))
        fuzz_check(err.msg[0] && fuzz_is_harmless(err.msg, strlen(err.msg)));
    engine_done(&e);
    engine_replay_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    autobuf struct buf text = BUF_INIT;
    struct graph graph;
    struct claims claims = {0};
    struct problems ps;
    set_unset();
    problems_init(&ps, "plan");
    fuzz_check(graph_init(&graph, &plan, &ps) == 0);
    begin(&text, &graph, &claims);
    while (in.size) {
        autofree char *line = fuzz_line(&in);
        buf_addf(&text, "%s\n", line);
    }
    replay(text.s, &graph, &claims);
    graph_done(&graph);
    problems_done(&ps);
    return 0;
}
