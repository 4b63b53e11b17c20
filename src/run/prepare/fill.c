#include "run/prepare/fill.h"

#include "base/mem.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/pool.h"
#include "run/prepare/prepare.h"
#include "run/prepare/provider.h"
#include "workspace/fill/copy_fill.h"

#include <string.h>

static int start_filling(struct attempt *job, void (*next)(struct attempt *job, int exit_code),
                         struct err *err)
{
    autofree char *log = attempt_file(job, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    copy_fill_command(&job->run->pf->repo, &job->ws, task_run(job)->start, &argv, &env);
    return process_start(job, argv.v, env.v, NULL, log, next, err);
}

void fill_by_git_done(struct attempt *job, int exit_code)
{
    if (exit_code == 0 && !job->stopped)
        pool_note(job);
    prepare_filled(job, exit_code);
}

int fill_by_git(struct attempt *job, struct err *err)
{
    return start_filling(job, fill_by_git_done, err);
}

void fill_waiting(struct run *run)
{
    struct fill *fill = &run->fill;
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
static void on_first_filled(struct attempt *job, int exit_code)
{
    struct run *run = job->run;
    struct fill *fill = &run->fill;
    if (exit_code != 0 || job->stopped)
        fill->state = FILL_UNKNOWN;
    else if (run->provider != PROVIDER_POOL &&
             memory_fill_take(&fill->mould, &job->ws, strlen(run->base_commit)))
        fill->state = FILL_MOULD;
    else
        fill->state = FILL_GIT;
    fill_by_git_done(job, exit_code);
    fill_waiting(run);
}

/* True if other tasks start at the same commit. */
static bool others_start_here(struct attempt *job)
{
    const struct plan *plan = &job->run->pf->plan;
    size_t n = 0;
    if (strcmp(task_run(job)->start, job->run->base_commit) != 0)
        return false;
    for (size_t i = 0; i < plan->task_count && n < 2; i++)
        n += plan->tasks[i].dep_count == 0;
    return n == 2;
}

int fill_workspace(struct attempt *job, struct err *err)
{
    struct fill *fill = &job->run->fill;
    if (pool_has(job->run))
        return pool_fill(job, err);
    if (overlay_fill_is_used(job->run))
        return overlay_fill_fill(job, err);
    /* No copy in memory of a large tree: nobody needs to wait for the first workspace. */
    if (fill->state == FILL_GIT || !others_start_here(job) ||
        provider_is_large(&job->run->pf->repo))
        return fill_by_git(job, err);
    switch (fill->state) {
    case FILL_FIRST:
        vec_push(&fill->waiting, job);
        return 0;
    case FILL_MOULD:
        if (memory_fill_fill(&fill->mould, &job->ws, err))
            return -1;
        prepare_filled(job, 0);
        return 0;
    case FILL_UNKNOWN:
    case FILL_GIT:
        break;
    }
    if (start_filling(job, on_first_filled, err))
        return -1;
    fill->state = FILL_FIRST;
    return 0;
}

void fill_done(struct run *run)
{
    memory_fill_done(&run->fill.mould);
    vec_done(&run->fill.waiting);
}
