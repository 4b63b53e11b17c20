#include "base/mem.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "git/state_paths.h"
#include "plan/engine/engine_journal.h"
#include "plan/engine/rules/past_life.h"
#include "run/resume/evidence.h"
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

static void add_life(struct buf *out, const struct past_life *life)
{
    buf_addf(out, " %s%s%s%s:", life->start_at_tip ? "t" : "-", life->in_conflict ? "c" : "-",
             life->has_message ? "m" : "-", life->follows_landing ? "f" : "-");
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (life->retries_used[f])
            buf_addf(out, "%s=%d,", failure_names[f], life->retries_used[f]);
    }
}

static void add_task(struct buf *out, const struct engine_task *t, const struct evidence_task *past)
{
    const struct past_life lives[] = {past_life_of_engine(t), past_life_of_events(&past->events)};
    buf_addf(out, "%s %s %s", past->row.id, task_state_name(t->state), past->row.state);
    for (size_t i = 0; i < ARRAY_LEN(lives); i++)
        add_life(out, &lives[i]);
    buf_addch(out, '\n');
}

/* One line for each task: its id, its state in the engine and in the store, and its past life by
 * the journal and by the other events. */
static int print_tasks(struct store *store, const char *run, const struct engine *e)
{
    const struct evidence_query query = {.run = run};
    autobuf struct buf out = BUF_INIT;
    struct evidence past;
    struct err err = {0};
    int rc = evidence_load(&past, store, &query, &err);
    for (size_t t = 0; rc == 0 && t < e->plan->task_count; t++) {
        const struct evidence_task *found = evidence_find(&past, e->plan->tasks[t].id);
        if (found)
            add_task(&out, &e->tasks[t], found);
    }
    evidence_done(&past);
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
        code = print_tasks(look->store, run, &e);
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
