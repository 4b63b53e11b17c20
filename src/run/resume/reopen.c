#include "run/resume/resume_private.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/attempt/attempt_dir.h"
#include "run/attempt/feedback.h"
#include "run/land/queue.h"
#include "run/prepare/prepare.h"
#include "run/resume/decide.h"
#include "run/resume/evidence.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "sys/fs/dirs.h"
#include "workspace/workspace.h"
#include "workspace/workspace_hold.h"

#include <string.h>

static int clear_own_locks(const struct attempt *attempt, struct err *err)
{
    autofree char *index = attempt_file(attempt, "index.lock");
    autofree char *salvage = attempt_file(attempt, "salvage.index.lock");
    return dirs_remove_endings(attempt->ws.admin, ".lock", err) || dirs_remove_file(index, err) ||
                   dirs_remove_file(salvage, err)
               ? -1
               : 0;
}

struct attempt *resume_reopen_as(struct run *run, uint32_t task, const struct evidence_task *past)
{
    struct attempt *attempt = attempt_new(run, task, past->row.attempts);
    struct err err = {0};
    if (attempt_dir_make(attempt, &err))
        record_error(run, task, &err);
    if (!run->base.name) {
        attempt->cwd = mem_str(run->pf->project);
        return attempt;
    }
    prepare_adopt(attempt, attempt->number);
    if (clear_own_locks(attempt, &err))
        record_error(run, task, &err);
    bool tree = workspace_has_tree(&attempt->ws);
    bool worked = past->state > TASK_PREPARING && past->state != TASK_LANDED;
    /* If the tree is left without its git folder, the agent's files in it are still its work. */
    if (tree && worked && !workspace_is_whole(&attempt->ws) &&
        workspace_restore(&attempt->ws, &err))
        record_error(run, task, &err);
    if (tree && workspace_enter(&attempt->ws, &err))
        record_error(run, task, &err);
    attempt->prepare.done = tree && past->state > TASK_PREPARING;
    attempt->agent.started = tree && worked; /* otherwise there is nothing to salvage */
    return attempt;
}

struct attempt *resume_reopen(struct run *run, uint32_t task)
{
    return resume_reopen_as(run, task, run->resume->tasks[task].past);
}

void resume_record_found(struct run *run, uint32_t task)
{
    const struct evidence *all = &run->resume->past;
    const struct evidence_task *past = run->resume->tasks[task].past;
    struct task_run *tr = &run->tasks[task];
    autobuf struct buf line = BUF_INIT;
    const char *commit = evidence_has_commit(all, past->row.landed) ? past->row.landed
                         : past->row.commit                         ? past->row.commit
                                                                    : past->branch_commit;
    task_set(&tr->landed, &tr->status.landed, commit);
    task_set(&tr->reason, &tr->status.reason, NULL);
    buf_addf(&line, "%s %s\n", commit, run->pf->plan.tasks[task].id);
    record_landed(run, &line);
    land_tell(run, task, strcmp(run->base.tip, all->base) == 0);
}
