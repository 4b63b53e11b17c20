#include "run/resume/resume_private.h"

#include "base/mem.h"
#include "run/resume/evidence.h"
#include "run/state/run_state.h"
#include "sys/fs/file.h"
#include "workspace/workspace.h"

void resume_workspace(const struct run *run, const char *id, const struct evidence_task *past,
                      struct workspace *ws)
{
    autofree char *usual = mem_printf("%s/%s/%s", run->work.dir, run->id, id);
    autofree char *branch = evidence_branch(run->opts.branch, run->id, id);
    workspace_adopt(ws, &run->pf->repo, past ? past->row.workspace : NULL, usual, branch,
                    run->batch);
}

bool resume_has_leftovers(const struct run *run, const struct evidence_task *past)
{
    struct workspace ws;
    if (!run->base.name || !past)
        return false;
    resume_workspace(run, past->row.id, past, &ws);
    bool some = past->branch_commit || file_exists(ws.path) || file_exists(ws.admin);
    workspace_done(&ws);
    return some;
}

bool resume_is_whole(const struct run *run, const struct evidence_task *past)
{
    struct workspace ws;
    resume_workspace(run, past->row.id, past, &ws);
    bool whole = run->base.name && workspace_is_whole(&ws);
    workspace_done(&ws);
    return whole;
}

bool resume_is_worked_in(const struct run *run, const struct evidence_task *past)
{
    static const char *const notes[] = {"MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge",
                                        "rebase-apply"};
    struct workspace ws;
    bool some = false;
    resume_workspace(run, past->row.id, past, &ws);
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        autofree char *path = mem_printf("%s/%s", ws.admin, notes[i]);
        some = some || file_exists(path);
    }
    workspace_done(&ws);
    return some;
}

/* Only the history proves a landing: it has the commit that was about to land, or the task's own.
 * The text of a commit proves nothing, as an agent can write it. */
bool resume_has_landed(const struct evidence *past, const struct evidence_task *p)
{
    return p->state == TASK_LANDED || evidence_has_commit(past, p->row.landed) ||
           evidence_has_commit(past, p->row.commit) ||
           (p->state == TASK_CONFLICTED && evidence_has_commit(past, p->branch_commit));
}

const char *resume_commit(const struct evidence_task *p)
{
    return p->state == TASK_CONFLICTED && p->branch_commit ? p->branch_commit : p->row.commit;
}
