#include "run/attempt/attempt.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "run/agent/logs.h"
#include "run/agent/progress.h"
#include "run/agent/stall.h"
#include "run/attempt/feedback.h"
#include "run/commit/commit.h"
#include "run/land/clean_tree.h"
#include "run/land/land.h"
#include "run/prepare/prepare.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/wake.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"
#include "sys/proc/loop.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRESH_MS = 1000 }; /* a process may have written to the work tree since */

static void remove_empty(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        (void)unlink(path);
}

/* Removes the files of the attempt that nobody reads again. An index is as large as the repository
 * has files. The guards have ended. A resume asks for the note about the boot only if the task is
 * not done. */
static void remove_spent_files(const struct attempt *attempt)
{
    const struct run *run = attempt->run;
    const bool done = task_has_succeeded(run->engine->tasks[attempt->task].state);
    const struct {
        const char *name;
        bool spent;
    } files[] = {{"index", run->base.name},
                 {"salvage.index", run->base.name},
                 {"guard", !attempt->command.unkillable},
                 {"boot", run->base.name && done}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        autofree char *path = attempt_file(attempt, files[i].name);
        if (files[i].spent)
            (void)unlink(path); /* most attempts have only some of these */
    }
    autofree char *tmp = attempt_file(attempt, "tmp"), *errlog = attempt_file(attempt, "err");
    autofree char *prepare = attempt_file(attempt, "prepare.log");
    remove_empty(errlog);
    remove_empty(prepare);
    agent_tidy(run_engine(run, attempt->task), tmp);
    (void)rmdir(tmp); /* fails, and keeps the folder, if the agent left files in it */
}

/* Keeps the session: a person may want to resume it. */
static void keep_session(struct attempt *attempt)
{
    const char *session = attempt_session(attempt);
    autofree char *kept = session && *session ? mem_str(session) : NULL;
    if (!kept)
        return;
    free(task_run(attempt)->last_session);
    task_run(attempt)->last_session = steal_ptr(kept);
}

static void free_agent_run(struct agent_run *a)
{
    output_tail_close(&a->tail);
    agent_errors_close(&a->errors);
    agent_report_done(&a->report);
    progress_done(&a->progress);
    stall_done(&a->stall);
    free(a->overrun);
    free(a->session);
    free(a->brief);
}

static void free_staging(struct staging *s)
{
    free(s->too_large);
    buf_done(&s->tree);
    work_scan_close(&s->scan);
    buf_done(&s->branch_before);
}

static void free_candidate(struct candidate *c)
{
    buf_done(&c->commit);
    buf_done(&c->base);
}

static void free_preparation(struct preparation *p)
{
    free(p->excludes);
    free(p->included_list);
}

void attempt_free(struct attempt *attempt)
{
    keep_session(attempt);
    logs_end(attempt);
    remove_spent_files(attempt);
    logs_mask(attempt->run, attempt->dir);
    task_report(attempt->run, attempt->task, ENGINE_ATTEMPT_CLOSED);
    task_run(attempt)->attempt = NULL;
    process_done(&attempt->process);
    watch_free(attempt->tick);
    clean_tree_remove(attempt); /* it looks at the workspace */
    if (attempt->has_workspace) /* the workspace stays on disk */
        workspace_release(&attempt->ws);
    workspace_done(&attempt->ws);
    free_agent_run(&attempt->agent);
    free_staging(&attempt->staged);
    free_candidate(&attempt->landing);
    free_preparation(&attempt->prepare);
    char *const owned[] = {attempt->dir,          attempt->cwd,      attempt->dir_error,
                           attempt->tamper_error, attempt->conflict, attempt->command.unkillable};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    ports_give_back(&attempt->run->work.ports, attempt->prepare.port);
    struct run *run = attempt->run;
    free(attempt);
    run_wake(run);
}

void attempt_stop(struct attempt *attempt, enum stop_reason why, char order)
{
    if (attempt->prepare.tearing_down && order == GUARD_STOP)
        return; /* the teardown is part of an earlier stop */
    if (!attempt->stopped)
        attempt->stopped = why;
    process_order(attempt, order);
}

void attempt_pause(struct attempt *attempt)
{
    process_order(attempt, GUARD_PAUSE);
}

void attempt_continue(struct attempt *attempt, int64_t lost)
{
    if (attempt->agent.started)
        attempt->agent.started += lost;
    attempt->agent.last_output += lost;
    attempt->agent.report.waits += attempt->agent.report.waits ? lost : 0;
    if (attempt->agent.stall.asked)
        attempt->agent.stall.asked += lost;
    attempt->command.deadline += lost;
    process_order(attempt, GUARD_CONTINUE);
}

struct attempt *attempt_new(struct run *run, uint32_t task, int number)
{
    struct attempt *attempt = mem_alloc(sizeof(*attempt));
    *attempt = (struct attempt){
        .run = run,
        .task = task,
        .number = number,
        .process = {.lifeline = -1, .status = -1},
        .agent = {.report = AGENT_REPORT_INIT, .tail = {.fd = -1}},
        .staged = STAGING_INIT,
        .landing = CANDIDATE_INIT,
    };
    attempt->dir = attempt_path(run->files.dir, run->pf->plan.tasks[task].id, attempt->number);
    run->tasks[task].attempt = attempt;
    task_report(run, task, ENGINE_ATTEMPT_OPENED);
    return attempt;
}

const char *attempt_session(const struct attempt *attempt)
{
    return attempt->agent.report.session.len ? attempt->agent.report.session.s
                                             : attempt->agent.session;
}

bool attempt_has_scan(const struct attempt *attempt)
{
    return attempt->staged.scan_is_valid && clock_mono() - attempt->staged.scanned_at < FRESH_MS;
}
