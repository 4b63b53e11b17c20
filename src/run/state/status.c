/*
 * The public state of a run.
 */
#include "run/state/status.h"

#include "agent/agent.h"
#include "plan/words.h"
#include "run/resume/decide.h"
#include "run/run.h"
#include "run/state/run_state.h"

#include <string.h>

enum agent_engine run_engine(const struct run *run, uint32_t task)
{
    enum agent_engine own = run->pf->plan.tasks[task].engine;
    if (run_uses_fallback(run, task))
        return run_fallback_engine(run, task);
    if (run->opts.engine)
        return run->opts.engine;
    return own ? own : ENGINE_CLAUDE;
}

const char *run_engine_name(const struct run *run, uint32_t task)
{
    return engine_words[run_engine(run, task)];
}

const char *run_program(const struct run *run, enum agent_engine engine)
{
    return run->opts.engine_exe ? run->opts.engine_exe : run->config.config.programs[engine];
}

const char *run_id(const struct run *run)
{
    return run->id;
}

const char *run_dir(const struct run *run)
{
    return run->files.dir;
}

const char *run_state_dir(const struct run *run)
{
    return run->files.state;
}

const char *run_base(const struct run *run)
{
    return run->base.name;
}

const struct git_repo *run_repo(const struct run *run)
{
    return &run->pf->repo;
}

const char *run_base_commit(const struct run *run)
{
    return run->base.start;
}

size_t run_workers(const struct run *run)
{
    return run->engine->sched.workers;
}

struct task_terms run_terms(const struct run *run, uint32_t task)
{
    const struct task *t = &run->pf->plan.tasks[task];
    struct task_terms terms = {
        .engine = run_engine_name(run, task),
        .timeout = t->timeout > 0 ? t->timeout : run->opts.timeout,
        .idle_timeout = run_idle_timeout(run, task),
    };
    struct retries retries = engine_retries(run->engine, task);
    for (int f = 0; f < FAILURE_RETRY_COUNT; f++)
        terms.retries[f] = retry_times(&retries, (enum failure)f);
    return terms;
}

struct task_status run_task(const struct run *run, uint32_t task)
{
    struct task_status status = run->tasks[task].status;
    status.state = run->engine->tasks[task].state;
    return status;
}

static int compute_exit_code(const struct run_result *r)
{
    if (r->signal)
        return 128 + r->signal;
    if (r->conflicted || !r->published)
        return RUN_EXIT_CONFLICT;
    return r->failed || r->skipped ? RUN_EXIT_TASK : 0;
}

static bool ended_early(const struct run *run)
{
    return engine_is_draining(run->engine) && run->engine->sched.left > 0;
}

bool run_is_unfinished(const struct run *run)
{
    bool left = ended_early(run);
    for (size_t i = 0; run->resume && run->resume->one && i < run->pf->plan.task_count; i++)
        left = left || (run->resume->tasks[i].past && run->engine->tasks[i].state < TASK_LANDED);
    return left;
}

/* True if further work on a landed task failed now, not in an earlier process. */
static bool has_failed_after_landing(const struct run *run, size_t task)
{
    const struct resume *r = run->resume;
    return run->engine->tasks[task].follow_up_failed && !(r && r->tasks[task].step == RESUME_KEEP);
}

/* Counts the results of the selected tasks, or of all tasks. If further work on a landed task
 * failed, that is a failure of this command, but not of the run. */
static struct run_result count_results(const struct run *run, bool all)
{
    struct run_result r = {.signal = run->turn.signal,
                           .result = run->base.result,
                           .advice = run->base.advice,
                           .refusal = run->base.refusal};
    r.published = !run->base.name || (strcmp(run->base.tip, run->base.published) == 0 &&
                                      !run->publisher.may_be_undone);
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (!all && run->opts.wanted && !run->opts.wanted[i])
            continue;
        switch (run->engine->tasks[i].state) {
        case TASK_LANDED:
            if (!all && has_failed_after_landing(run, i))
                r.failed++;
            else
                r.landed++;
            break;
        case TASK_DONE:
            r.done++;
            break;
        case TASK_FAILED:
            r.failed++;
            break;
        case TASK_CONFLICTED:
            r.conflicted++;
            break;
        case TASK_SKIPPED:
            r.skipped++;
            break;
        case TASK_WAITING:
        case TASK_READY:
        case TASK_PREPARING:
        case TASK_RUNNING:
        case TASK_COMMITTING:
        case TASK_VERIFYING:
        case TASK_LANDING:
        case TASK_STATE_COUNT_:
            break;
        }
    }
    r.exit_code = compute_exit_code(&r);
    if (r.exit_code == 0 && (all ? run_is_unfinished(run) : ended_early(run)))
        r.exit_code = RUN_EXIT_TASK;
    return r;
}

struct run_result run_result(const struct run *run)
{
    return count_results(run, false);
}

struct run_result run_whole_result(const struct run *run)
{
    return count_results(run, true);
}

enum agent_engine run_fallback_engine(const struct run *run, uint32_t task)
{
    const struct task *t = &run->pf->plan.tasks[task];
    enum agent_engine own = t->engine ? t->engine : ENGINE_CLAUDE;
    return run->opts.engine ? run->opts.engine : t->fallback.engine ? t->fallback.engine : own;
}

int32_t run_lane(const struct run *run, uint32_t task)
{
    return run->engine->lanes.used[task];
}

/* The preflight asks before there are lanes. */
bool run_uses_fallback(const struct run *run, uint32_t task)
{
    return run->engine->lanes.count && run_lane(run, task) != run->engine->tasks[task].lane;
}

int64_t run_idle_timeout(const struct run *run, uint32_t task)
{
    int64_t own = run->pf->plan.tasks[task].idle_timeout;
    return own > 0 ? own : agent_idle(run_engine(run, task));
}

const struct resume *run_resumed(const struct run *run)
{
    return run->resume;
}
