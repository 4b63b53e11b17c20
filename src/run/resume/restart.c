/*
 * Continues each task of a resumed run where it stopped, by the same steps as in a run that was
 * never interrupted.
 */
#include "run/resume/resume_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/attempt/end.h"
#include "run/attempt/fail.h"
#include "run/attempt/salvage.h"
#include "run/land/queue.h"
#include "run/limits/lane.h"
#include "run/report.h"
#include "run/resume/decide.h"
#include "run/resume/evidence.h"
#include "run/rework/follow_up.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/task.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "workspace/workspace_hold.h"

#include <string.h>

/* Salvages the branch if the work tree is gone. */
static bool save_branch(struct attempt *attempt, const struct evidence_task *past)
{
    bool saved = attempt->agent.started || !past->branch_commit ||
                 evidence_has_commit(&attempt->run->resume->past, past->branch_commit) ||
                 strcmp(past->branch_commit, task_run(attempt)->start) == 0;
    return saved || attempt_salvage_commit(attempt, past->branch_commit);
}

static void report_reboot(struct run *run, uint32_t task)
{
    struct err err = {0};
    (void)err_set(&err, ERR_ENV, "%s: we saved its work, and it starts again",
                  run->resume->tasks[task].why);
    record_error(run, task, &err);
}

/* Salvages and removes the rest of the last attempt. The task starts after that. */
static void restart_task(struct run *run, uint32_t task)
{
    const struct evidence_task *past = run->resume->tasks[task].past;
    bool restarted = run->resume->tasks[task].restarted;
    if (!resume_has_leftovers(run, past))
        return;
    task_report(run, task, ENGINE_HELD);
    struct attempt *attempt = resume_reopen(run, task);
    if (restarted)
        report_reboot(run, task);
    if (save_branch(attempt, past)) {
        attempt_discard(attempt, restarted
                                     ? "the machine was restarted: its last writes may be lost"
                                     : "the run was interrupted and starts the task again");
    } else {
        attempt->has_workspace = false; /* keep what is left of it */
        attempt_fail(attempt, FAILURE_INTERNAL, "could not save the commits of its branch");
    }
}

static void land_again(struct run *run, uint32_t task)
{
    const struct evidence_task *past = run->resume->tasks[task].past;
    struct task_run *tr = &run->tasks[task];
    struct git_place at = run_place(run);
    struct err err = {0};
    bool moved;
    task_set(&tr->commit, &tr->status.commit, resume_commit(past));
    task_set(&tr->reason, &tr->status.reason, NULL);
    tr->status.finished = 0;
    task_report(run, task, ENGINE_LANDS_AGAIN);
    const char *was = past->branch_commit ? past->branch_commit : "";
    if (strcmp(was, tr->commit) != 0 && /* a repair may have moved the branch */
        git_move_ref(&at, tr->branch, was, tr->commit, "anabranch: resume", &moved, &err))
        record_error(run, task, &err);
    struct attempt *attempt = resume_reopen(run, task);
    bool whole = workspace_is_whole(&attempt->ws);
    if (!whole && !attempt->agent.started) { /* a worker makes it again */
        task_report(run, task, ENGINE_NEEDS_WORKSPACE);
        attempt->has_workspace = false;
        attempt_free(attempt);
        task_report(run, task, ENGINE_READY);
    } else if (whole && (past->state != TASK_CONFLICTED ||
                         attempt_salvage_since(attempt, tr->commit, "was in conflict"))) {
        land_queue(attempt);
    } else {
        attempt_fail(attempt, FAILURE_INTERNAL, "could not save the files of its workspace");
    }
}

static void resume_session(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    const struct evidence_task *past = run->resume->tasks[task].past;
    const struct next_session *next = &past->events.next;
    struct attempt *attempt = resume_reopen(run, task);
    if (!next->repair) /* a repair salvaged it when it failed */
        (void)attempt_salvage_since(
            attempt, tr->start,
            "the run was interrupted"); /* the function reports an error; we remove nothing */
    attempt->has_workspace = false;     /* the next attempt owns it */
    attempt_free(attempt);
    tr->session = mem_str(run->resume->tasks[task].session);
    task_set(&tr->remake_from, NULL, next->remake_from);
    task_set(&tr->first_start, NULL, next->first_start);
    const struct engine_event ev = {.kind = ENGINE_SESSION_RESUMED,
                                    .task = task,
                                    .next = {.repair = next->repair,
                                             .remade = next->remake_workspace,
                                             .parked = next->session && !next->repair,
                                             .has_message = past->life.has_message}};
    (void)run_report(run, &ev); /* the row shows the last attempt until the next starts */
    if (next->session)
        record_task(run, task);
}

/* Closes the lanes again that wait for a limit, with all their tasks. */
static void close_lanes(struct run *run)
{
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++) {
        const struct evidence_task *past = run->resume->tasks[t].past;
        if (past && past->events.parked_until && past->row.engine &&
            strcmp(past->row.engine, run_engine_name(run, t)) == 0)
            lane_recall(run, t, past->events.parked_until, past->row.reason);
    }
}

/* A person removed the further work on a landed task, which was in conflict. */
static void forget_conflict(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    task_set(&tr->reason, &tr->status.reason, NULL);
    follow_up_restore(run, task);
}

static void keep_task(struct run *run, uint32_t task)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    bool landed = resume_has_landed(&run->resume->past, rt->past);
    if (rt->step == RESUME_FOUND)
        (landed ? resume_record_found : forget_conflict)(run, task);
    if (resume_has_leftovers(run, rt->past)) {
        struct attempt *attempt = resume_reopen(run, task);
        if (run->opts.keep)
            attempt_free(attempt); /* this leaves the workspace to the user */
        else
            attempt_tidy(attempt);
    }
    task_ended(run, task);
}

static void continue_task(struct run *run, uint32_t task)
{
    switch (run->resume->tasks[task].step) {
    case RESUME_KEEP:
    case RESUME_FOUND:
        keep_task(run, task);
        break;
    case RESUME_LAND:
        land_again(run, task);
        break;
    case RESUME_COMMIT:
        task_report(run, task, ENGINE_HELD);
        (void)resume_reopen(run, task);
        task_report(run, task, ENGINE_FINISHED);
        break;
    case RESUME_CONTINUE:
        if (run->resume->one)
            resume_one_go(run, task);
        else
            resume_session(run, task);
        break;
    case RESUME_RUN:
        restart_task(run, task);
        break;
    case RESUME_LEAVE:
        task_ended(run, task);
        break;
    case RESUME_NOT_WANTED:
    case RESUME_STEP_COUNT_:
        break;
    }
}

static void record_resumed(struct run *run)
{
    const struct resume *r = run->resume;
    struct arena a = {0};
    struct node *data = node_new_map(&a), *steps = node_put_map(&a, data, "steps");
    for (int step = RESUME_KEEP; step < RESUME_STEP_COUNT_; step++)
        node_put_int(&a, steps, resume_step_names[step], (int64_t)r->count[step]);
    node_put_int(&a, steps, "dropped", (int64_t)r->dropped_count);
    int64_t idle = r->past.last_event ? clock_wall() - r->past.last_event : 0;
    node_put_int(&a, data, "idle_ms", idle > 0 ? idle : 0);
    record(run, EV_RUN_RESUMED, -1, data);
    arena_done(&a);
}

static bool is_settled(const struct run *run, uint32_t task)
{
    enum resume_step step = run->resume->tasks[task].step;
    return step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_LEAVE;
}

/* Tasks that stay as they are come first, dependants before dependencies: so a landed task is not
 * skipped because a dependency failed after it landed. */
void resume_go(struct run *run)
{
    const struct graph *g = &run->pf->graph;
    record_resumed(run);
    close_lanes(run);
    for (size_t i = g->n; i-- > 0 && !run->engine->failed;) {
        if (is_settled(run, g->order[i]))
            continue_task(run, g->order[i]);
    }
    for (size_t i = 0; i < g->n && !run->engine->failed; i++) {
        if (!is_settled(run, g->order[i]))
            continue_task(run, g->order[i]);
    }
}
