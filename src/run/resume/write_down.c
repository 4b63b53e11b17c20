/*
 * Starts a resume: removes what dead processes left, and records the true state of the run.
 *
 * We change a row of the store only after we have dealt with what it says. If we die, the next
 * resume finds it as we did.
 */
#include "run/resume/resume_private.h"

#include "base/mem.h"
#include "git/dead_lock.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "plan/engine/limits/task_limits.h"
#include "run/attempt/attempt.h"
#include "run/attempt/salvage.h"
#include "run/checkout/checkout_move.h"
#include "run/land/clean_tree.h"
#include "run/report.h"
#include "run/resume/decide.h"
#include "run/resume/evidence.h"
#include "run/state/record.h"
#include "run/state/run_folder.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage_list.h"
#include "workspace/commit/vault.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace_hold.h"

#include <string.h>

/* Removes locks. Those of the run's own refs belong to dead processes, as nobody else takes them.
 * Shared locks may belong to others: we remove only dead ones. */
static int remove_locks(const struct run *run, struct err *err)
{
    const char *common = run->pf->repo.common;
    autofree char *tip = mem_printf("%s/" TIP_REFS "%s.lock", common, run->id);
    autofree char *heads = mem_printf("%s/" PAST_BRANCH "%s", common, run->id);
    autofree char *salvage = mem_printf("%s/refs/anabranch/salvage/%s", common, run->id);
    for (size_t i = 0; run->opts.branch && i < run->resume->past.n; i++) {
        const char *id = run->resume->past.tasks[i].row.id;
        autofree char *ref = evidence_branch(run->opts.branch, run->id, id);
        autofree char *lock = mem_printf("%s/%s.lock", common, ref);
        if (dirs_remove_file(lock, err))
            return -1;
    }
    dead_lock_remove_shared(common, run->started, NULL);
    return dirs_remove_file(tip, err) || dirs_remove_endings(heads, ".lock", err) ||
                   dirs_remove_endings(salvage, ".lock", err)
               ? -1
               : 0;
}

/* Removes workspaces that were half made or half removed. */
static int remove_half_workspaces(const struct run *run, struct err *err)
{
    autofree char *tmp = state_tmp_path(run->pf->repo.common);
    autofree char *own = mem_printf("%s-", run->id);
    autofree char *work = mem_printf("%s/%s", run->work.dir, run->id);
    return dirs_remove_entries(tmp, own, "", err) || layers_tidy(work, run->pf->repo.common, err)
               ? -1
               : 0;
}

/* Creates the ref of the tip, then deletes the result branch for the user, unless that has more
 * commits by now. */
static int restore_tip(struct run *run, struct err *err)
{
    const struct evidence *past = &run->resume->past;
    struct git_place at = run_place(run);
    autofree char *result = mem_printf(PAST_BRANCH "%s/" STORE_RESULT, run->id);
    bool moved, contained = false;
    if ((!past->tip && git_move_ref(&at, run->base.tip_ref, "", run->base.tip, "anabranch: resume",
                                    &moved, err)) ||
        (past->result && git_is_ancestor(&at, past->result, run->base.tip, &contained, err)))
        return -1;
    return contained &&
                   git_move_ref(&at, result, past->result, "", "anabranch: resume", &moved, err)
               ? -1
               : 0;
}

static enum failure parse_failure(const char *name)
{
    for (int f = 0; name && f < FAILURE_COUNT_; f++) {
        if (strcmp(failure_names[f], name) == 0)
            return (enum failure)f;
    }
    return FAILURE_INTERNAL;
}

/* Loads the feedback for the next attempt: why the last one failed. If the last one was running,
 * takes its own feedback, which may describe its workspace, or a later message of a person. */
static void load_feedback(struct run *run, uint32_t task, const struct evidence_task *past)
{
    enum { FEEDBACK_MAX = 1 << 20 };
    struct task_run *tr = &run->tasks[task];
    bool under_way =
        past->state >= TASK_PREPARING && past->state < TASK_LANDED && !past->events.next.session;
    bool anew = under_way && run->resume->tasks[task].step == RESUME_RUN;
    int last = past->row.attempts;
    for (int n = anew && !past->life.has_message ? last - 1 : last; n > 0 && n >= last - under_way;
         n--) {
        autofree char *path = attempt_file_path(run->files.dir, past->row.id, n, "feedback");
        autobuf struct buf text = BUF_INIT;
        if (file_read(path, FEEDBACK_MAX, &text, NULL))
            continue;
        free(tr->feedback);
        tr->feedback = buf_steal(&text);
        return;
    }
}

static void report_found(struct run *run, uint32_t task, const struct evidence_task *past)
{
    bool changed = run->resume->tasks[task].changed;
    struct engine_event ev = {
        .kind = ENGINE_FOUND,
        .task = task,
        .found = {.state = past->state,
                  .tokens_in = past->row.tokens_in,
                  .tokens_out = past->row.tokens_out,
                  .usd = past->row.usd,
                  .start_at_tip = past->life.start_at_tip,
                  .in_conflict = past->life.in_conflict,
                  .follows_landing = past->life.follows_landing && !changed,
                  .follow_up_failed = past->state == TASK_LANDED && past->row.failure},
    };
    memcpy(ev.found.retries_used, past->life.retries_used, sizeof(ev.found.retries_used));
    (void)run_report(run, &ev);
}

static void load_status(struct run *run, uint32_t task, const struct evidence_task *past)
{
    struct task_run *tr = &run->tasks[task];
    struct task_status *s = &tr->status;
    const struct store_task *row = &past->row;
    *s = (struct task_status){
        .attempts = row->attempts,
        .failure = parse_failure(row->failure),
        .started = row->started,
        .finished = row->finished,
        .exit_code = row->exit_code,
    };
    task_set(&tr->reason, &s->reason, row->reason);
    task_set(&tr->commit, &s->commit, row->commit);
    task_set(&tr->landed, &s->landed, row->landed);
    task_set(&tr->workspace, &s->workspace, row->workspace);
    task_set(&tr->start, NULL, row->start_commit ? row->start_commit : run->base.start);
    tr->branch = evidence_branch(run->opts.branch, run->id, row->id);
    s->branch = row->branch ? tr->branch + strlen("refs/heads/") : NULL;
    tr->has_log_copies = row->attempts > 0;
    task_set(&tr->landed_before, NULL, past->events.landed);
    task_set(&tr->committed_before, NULL, past->events.committed);
    report_found(run, task, past);
}

void resume_forget(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    struct task_status *s = &tr->status;
    task_report(run, task, ENGINE_FORGOTTEN);
    s->finished = 0;
    s->exit_code = 0;
    task_set(&tr->reason, &s->reason, NULL);
    task_set(&tr->commit, &s->commit, NULL);
    task_set(&tr->landed, &s->landed, NULL);
}

/* Records a task that starts again as new at once, unless a part of it is left. */
static void load_task(struct run *run, uint32_t task)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    struct task_run *tr = &run->tasks[task];
    if (rt->past && (rt->step != RESUME_NOT_WANTED || run->resume->one))
        load_status(run, task, rt->past);
    if (run->resume->one) /* others may have landed since its first attempt */
        task_report(run, task, ENGINE_STARTS_AT_TIP);
    if (rt->past && !rt->changed && (rt->step == RESUME_RUN || rt->step == RESUME_CONTINUE))
        load_feedback(run, task, rt->past);
    if (rt->step != RESUME_RUN || resume_has_leftovers(run, rt->past))
        return;
    resume_forget(run, task);
    task_set(&tr->workspace, &tr->status.workspace, NULL);
    tr->status.branch = NULL;
}

static int save_dropped(struct run *run, const struct evidence_task *p, const struct workspace *ws,
                        struct err *err)
{
    static const char why[] = "is no longer in the plan";
    struct change_limits usual = change_limits_of();
    struct git_place at = run_place(run);
    const char *start = p->row.start_commit ? p->row.start_commit : run->base.start;
    autofree char *index =
        attempt_file_path(run->files.dir, p->row.id, p->row.attempts, "salvage.index");
    autofree char *ref = salvage_ref(run, p->row.id, p->row.attempts);
    autofree char *message = salvage_message(run->id, p->row.id, p->row.attempts, start, why);
    struct salvage_job sj = {.commit = {.ws = ws,
                                        .start = start,
                                        .index = index,
                                        .root = run->pf->repo.root,
                                        .message = message},
                             .ref = ref,
                             .patterns = run->pf->plan.salvage.v,
                             .pattern_count = run->pf->plan.salvage.n,
                             .bounds = {usual.files, usual.bytes}};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    bool moved;
    if (p->state > TASK_PREPARING && workspace_is_whole(ws))
        return salvage_workspace(&sj, &saved, err) ||
                       (saved.left_count && err_set(err, ERR_ENV,
                                                    "task '%s', which %s, has more in '%s' than "
                                                    "we can save",
                                                    p->row.id, why, ws->path))
                   ? -1
                   : 0;
    unsynced_note();
    return p->branch_commit && strcmp(p->branch_commit, start) != 0 &&
                   git_move_ref(&at, ref, "", p->branch_commit, "anabranch: salvage", &moved, err)
               ? -1
               : 0;
}

static int drop_task(struct run *run, const struct evidence_task *p, struct err *err)
{
    struct git_place at = run_place(run);
    struct workspace ws;
    bool moved;
    resume_workspace(run, p->row.id, p, &ws);
    int rc = !resume_has_leftovers(run, p) ? 0
             : (workspace_has_tree(&ws) && workspace_enter(&ws, err)) ||
                     save_dropped(run, p, &ws, err) || unsynced_settle(run->pf->repo.common, err) ||
                     workspace_remove(&ws, err)
                 ? -1
             : p->branch_commit ? git_move_ref(&at, ws.branch, p->branch_commit, "",
                                               "anabranch: dropped", &moved, err)
                                : 0;
    workspace_done(&ws);
    return rc ? rc : store_drop_task(run->journal.store, run->id, p->row.id, err);
}

static int record_tasks(struct run *run, struct err *err)
{
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++)
        load_task(run, t);
    if (record_begin(run, err))
        return -1;
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++) {
        if (run->resume->tasks[t].step == RESUME_RUN)
            resume_forget(run, t);
    }
    return 0;
}

/* Restores salvage refs that another program deleted or moved while no run watched. */
static void restore_saved(struct run *run)
{
    struct git_place at = {.git_dir = run->pf->repo.common};
    autostrv struct strv restored = {0};
    struct err err = {0};
    if (vault_tidy(&at, run->id, &err))
        record_error(run, -1, &err);
    if (vault_restore(&at, NULL, &restored, &err))
        record_error(run, -1, &err);
    for (size_t i = 0; i < restored.n; i++) {
        (void)err_set(&err, ERR_ENV, "another program had deleted or moved %s: it is restored",
                      restored.v[i]);
        record_error(run, -1, &err);
    }
}

int resume_begin(struct run *run, struct err *err)
{
    const struct resume *r = run->resume;
    clean_tree_tidy(run);
    checkout_move_tidy(run);
    if (run->base.name &&
        (remove_locks(run, err) || remove_half_workspaces(run, err) || restore_tip(run, err)))
        return -1;
    if (record_tasks(run, err))
        return -1;
    if (run->base.name)
        restore_saved(run);
    for (size_t i = 0; i < r->dropped_count; i++) {
        if (run->base.name
                ? drop_task(run, r->dropped[i], err)
                : store_drop_task(run->journal.store, run->id, r->dropped[i]->row.id, err))
            return -1;
    }
    return r->one
               ? 0
               : run_folder_write(run, err); /* last: after everything that follows from an edit */
}
