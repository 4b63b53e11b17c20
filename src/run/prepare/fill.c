#include "run/prepare/fill.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/pool.h"
#include "run/prepare/prepare.h"
#include "run/prepare/provider.h"
#include "run/process/process.h"
#include "run/state/run_state.h"
#include "workspace/fill/copy_fill.h"

#include <string.h>

static int start_filling(struct attempt *attempt,
                         void (*next)(struct attempt *attempt, int exit_code), struct err *err)
{
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    copy_fill_command(&attempt->run->pf->repo, &attempt->ws, task_run(attempt)->start, &argv, &env);
    return process_start(attempt, argv.v, env.v, NULL, log, next, err);
}

void fill_by_git_done(struct attempt *attempt, int exit_code)
{
    if (exit_code == 0 && !attempt->stopped)
        pool_note(attempt);
    prepare_filled(attempt, exit_code);
}

int fill_by_git(struct attempt *attempt, struct err *err)
{
    return start_filling(attempt, fill_by_git_done, err);
}

void fill_waiting(struct run *run)
{
    struct fill *fill = &run->work.fill;
    size_t n = fill->waiting.n;
    struct attempt **waiting = fill->waiting.v;
    memset(&fill->waiting, 0, sizeof(fill->waiting));
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        if (waiting[i]->stopped)
            prepare_filled(waiting[i], 0);
        else if (fill_workspace(waiting[i], &err))
            attempt_fail(waiting[i], FAILURE_SETUP, "%s", err.msg);
    }
    free(waiting);
}

/* Copies the first workspace into memory before its agent works in it. */
static void on_first_filled(struct attempt *attempt, int exit_code)
{
    struct run *run = attempt->run;
    struct fill *fill = &run->work.fill;
    if (exit_code != 0 || attempt->stopped)
        fill->state = FILL_UNKNOWN;
    else if (run->work.provider != PROVIDER_POOL &&
             memory_fill_take(&fill->mould, &attempt->ws, strlen(run->base.start)))
        fill->state = FILL_MOULD;
    else
        fill->state = FILL_GIT;
    fill_by_git_done(attempt, exit_code);
    fill_waiting(run);
}

/* True if other tasks start at the same commit. */
static bool others_start_here(struct attempt *attempt)
{
    const struct plan *plan = &attempt->run->pf->plan;
    size_t n = 0;
    if (strcmp(task_run(attempt)->start, attempt->run->base.start) != 0)
        return false;
    for (size_t i = 0; i < plan->task_count && n < 2; i++)
        n += plan->tasks[i].dep_count == 0;
    return n == 2;
}

int fill_workspace(struct attempt *attempt, struct err *err)
{
    struct fill *fill = &attempt->run->work.fill;
    if (pool_has(attempt->run))
        return pool_fill(attempt, err);
    if (overlay_fill_is_used(attempt->run))
        return overlay_fill_fill(attempt, err);
    /* No copy in memory of a large tree: nobody needs to wait for the first workspace. */
    if (fill->state == FILL_GIT || !others_start_here(attempt) ||
        provider_is_large(&attempt->run->pf->repo))
        return fill_by_git(attempt, err);
    switch (fill->state) {
    case FILL_FIRST:
        vec_push(&fill->waiting, attempt);
        return 0;
    case FILL_MOULD:
        if (memory_fill_fill(&fill->mould, &attempt->ws, err))
            return -1;
        prepare_filled(attempt, 0);
        return 0;
    case FILL_UNKNOWN:
    case FILL_GIT:
        break;
    }
    if (start_filling(attempt, on_first_filled, err))
        return -1;
    fill->state = FILL_FIRST;
    return 0;
}

void fill_done(struct run *run)
{
    memory_fill_done(&run->work.fill.mould);
    vec_done(&run->work.fill.waiting);
}
