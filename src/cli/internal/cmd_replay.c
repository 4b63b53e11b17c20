#include "base/mem.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "git/state_paths.h"
#include "plan/engine/engine_journal.h"
#include "run/state/run_folder.h"

/* A replay of all that the store has of the run. */
struct replay_all {
    struct engine_replay replay;
    struct err err;
};

static bool replay_lines(void *ctx, const char *lines)
{
    struct replay_all *all = ctx;
    return engine_replay_text(&all->replay, lines, &all->err) == 0;
}

static void add_task(struct buf *out, const struct engine *e, const struct plan *plan, size_t task,
                     const char *stored)
{
    buf_addf(out, "%s %s %s\n", plan->tasks[task].id, task_state_name(e->tasks[task].state),
             stored ? stored : "-");
}

/* One line for each task: its id, its state in the engine, and its state in the store. */
static int print_states(struct store *store, const char *run, const struct replay_all *all)
{
    const struct plan *plan = all->replay.plan;
    autobuf struct buf out = BUF_INIT;
    struct arena a = {0};
    struct err err = {0};
    int rc = 0;
    for (size_t t = 0; rc == 0 && t < plan->task_count; t++) {
        struct store_task row;
        rc = store_find_task(store, run, plan->tasks[t].id, &a, &row, &err);
        if (rc == 0)
            add_task(&out, all->replay.engine, plan, t, row.state);
    }
    arena_done(&a);
    return rc ? cli_fail_by(&err) : cli_print(out.s, out.len);
}

static int check_replay(const struct replay_all *all, const char *run)
{
    if (all->err.code)
        return cli_fail(EXIT_ENV, "run %s: %s", run, all->err.msg);
    if (!all->replay.sections)
        return cli_fail(EXIT_ENV, "run %s has no journal of its engine", run);
    if (all->replay.refused)
        return cli_fail(EXIT_ENV, "run %s: its engine refused %zu events", run,
                        all->replay.refused);
    return EXIT_OK;
}

static int replay_run(struct lookup *look, const char *run, struct plan_file *pf)
{
    struct engine e = {0};
    struct replay_all all = {
        .replay = {.plan = &pf->plan, .graph = &pf->graph, .claims = &pf->claims, .engine = &e}};
    struct err err = {0};
    int code = store_each_engine_events(look->store, run, replay_lines, &all, &err)
                   ? cli_fail_by(&err)
                   : check_replay(&all, run);
    if (code == EXIT_OK)
        code = print_states(look->store, run, &all);
    engine_done(&e);
    engine_replay_done(&all.replay);
    return code;
}

static int run_replay(const void *options, char **argv)
{
    autolook struct lookup look = {0};
    autosaved struct run_folder saved = {0};
    struct plan_file pf;
    struct problems ps;
    struct err err = {0};
    (void)options;
    int code = lookup_open(&look);
    if (code != EXIT_OK)
        return code;
    autofree char *dir = run_path(look.state_dir, argv[0]);
    if (run_folder_load(&saved, dir, &err))
        return cli_fail_by(&err);
    problems_init(&ps, argv[0]);
    code = run_folder_plan(&saved, dir, &pf, &ps)
               ? cli_fail(EXIT_ENV, "run %s: its plan cannot be read", argv[0])
               : replay_run(&look, argv[0], &pf);
    problems_done(&ps);
    plan_file_close(&pf);
    return code;
}

static const struct arg args[] = {
    {.name = "RUN", .help = "Its id"},
    {0},
};

const struct command cmd_replay = {
    .name = "__replay",
    .summary = "Replay the journal of the engine of a run, for tests",
    .args = args,
    .hidden = true,
    .run = run_replay,
};
