/*
 * Going on: each task is put where its earlier life left it, by the same steps that a run that was
 * never interrupted takes.
 *
 * A row of the store is changed only when what it says has been dealt with: whoever goes on after
 * our own death finds it as we did.
 */
#include "run/resume_private.h"

#include "base/build.h"
#include "base/mem.h"
#include "run/prepare.h"
#include "run/salvage.h"
#include "sys/dirs.h"

#include <string.h>
#include <sys/stat.h>

/* --- what dead processes left ------------------------------------------------------------- */

/* Locks in the run's own corners of the repository; nobody else takes them, and whoever did is
 * gone.
 */
static int clear_locks(const struct run *run, struct err *err)
{
    const char *common = run->pf->repo.common;
    autofree char *tip = mem_printf("%s/" PAST_TIP "%s.lock", common, run->id);
    autofree char *heads = mem_printf("%s/" PAST_BRANCH "%s", common, run->id);
    autofree char *salvage = mem_printf("%s/refs/anabranch/salvage/%s", common, run->id);
    return dirs_remove(tip, err) || dirs_remove_endings(heads, ".lock", err) ||
                   dirs_remove_endings(salvage, ".lock", err)
               ? -1
               : 0;
}

/* Workspaces that were half made, or half removed. */
static int clear_halves(const struct run *run, struct err *err)
{
    autofree char *tmp = mem_printf("%s/anabranch/tmp", run->pf->repo.common);
    autofree char *own = mem_printf("%s-", run->id);
    autofree char *work = mem_printf("%s/%s", run->work, run->id);
    return dirs_remove_entries(tmp, own, "", err) || dirs_remove_entries(work, "", ".gone", err)
               ? -1
               : 0;
}

/* --- the tip ------------------------------------------------------------------------------ */

/* The tip's ref is made before the branch that kept it for the user goes. Where that has more by
 * now, it stays. */
static int restore_tip(struct run *run, struct err *err)
{
    const struct past *past = &run->resume->past;
    struct git_place at = run_place(run);
    autofree char *result = mem_printf(PAST_BRANCH "%s/" STORE_RESULT, run->id);
    bool moved, contained = false;
    if ((!past->tip &&
         git_move_ref(&at, run->tip_ref, "", run->tip, "anabranch: resume", &moved, err)) ||
        (past->result && git_is_ancestor(&at, past->result, run->tip, &contained, err)))
        return -1;
    return contained &&
                   git_move_ref(&at, result, past->result, "", "anabranch: resume", &moved, err)
               ? -1
               : 0;
}

/* --- what is known of a task -------------------------------------------------------------- */

static void set(char **slot, const char **shown, const char *value)
{
    free(*slot);
    *slot = value ? mem_str(value) : NULL;
    if (shown)
        *shown = *slot;
}

static enum failure failure_of(const char *name)
{
    for (int f = 0; name && f < FAILURE_COUNT_; f++) {
        if (strcmp(failure_names[f], name) == 0)
            return (enum failure)f;
    }
    return FAILURE_INTERNAL;
}

static void recall(struct run *run, uint32_t task, const struct past_task *past)
{
    struct task_run *tr = &run->tasks[task];
    struct task_status *s = &tr->status;
    const struct store_task *row = &past->row;
    *s = (struct task_status){
        .state = past->state,
        .attempts = row->attempts,
        .failure = failure_of(row->failure),
        .started = row->started,
        .finished = row->finished,
        .exit_code = row->exit_code,
        .tokens_in = row->tokens_in,
        .tokens_out = row->tokens_out,
        .usd = row->usd,
    };
    memcpy(tr->tried, past->tried, sizeof(tr->tried));
    set(&tr->reason, &s->reason, row->reason);
    set(&tr->commit, &s->commit, row->commit);
    set(&tr->landed, &s->landed, row->landed);
    set(&tr->workspace, &s->workspace, row->workspace);
    set(&tr->start, NULL, row->start_commit ? row->start_commit : run->base_commit);
    tr->branch = mem_printf(PAST_BRANCH "%s/%s", run->id, row->id);
    s->branch = row->branch ? tr->branch + strlen("refs/heads/") : NULL;
    tr->logged = row->attempts > 0;
    tr->on_top = past->has_landed;
}

/* Nothing of what it had counts any more; its attempts and what they cost do. */
static void forget(struct task_run *tr)
{
    struct task_status *s = &tr->status;
    s->state = TASK_WAITING;
    s->finished = 0;
    s->exit_code = 0;
    set(&tr->reason, &s->reason, NULL);
    set(&tr->commit, &s->commit, NULL);
    set(&tr->landed, &s->landed, NULL);
}

/* A task that begins anew is written down as such at once, unless something of it is left. */
static void recall_task(struct run *run, uint32_t task)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    struct task_run *tr = &run->tasks[task];
    if (rt->past && rt->step != RESUME_NOT_WANTED)
        recall(run, task, rt->past);
    if (rt->step != RESUME_RUN || resume_has_leftovers(run, rt->past))
        return;
    forget(tr);
    set(&tr->workspace, &tr->status.workspace, NULL);
    tr->status.branch = NULL;
}

/* --- what the plan has no more ------------------------------------------------------------ */

static int save_dropped(struct run *run, const struct past_task *p, const struct workspace *ws,
                        struct err *err)
{
    static const char why[] = "the plan has it no more";
    struct git_place at = run_place(run);
    const char *start = p->row.start_commit ? p->row.start_commit : run->base_commit;
    autofree char *index =
        mem_printf("%s/%s/%d/salvage.index", run->dir, p->row.id, p->row.attempts);
    autofree char *ref = salvage_ref(run, p->row.id, p->row.attempts);
    autofree char *message = salvage_message(run->id, p->row.id, p->row.attempts, start, why);
    struct salvage_job sj = {.commit = {.ws = ws,
                                        .start = start,
                                        .index = index,
                                        .root = run->pf->repo.root,
                                        .message = message},
                             .ref = ref,
                             .patterns = run->pf->plan.salvage.v,
                             .pattern_count = run->pf->plan.salvage.n};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    bool moved;
    if (p->state > TASK_PREPARING && workspace_is_whole(ws))
        return salvage_workspace(&sj, &saved, err);
    return p->branch_commit && strcmp(p->branch_commit, start) != 0 &&
                   git_move_ref(&at, ref, "", p->branch_commit, "anabranch: salvage", &moved, err)
               ? -1
               : 0;
}

static int drop(struct run *run, const struct past_task *p, struct err *err)
{
    struct git_place at = run_place(run);
    struct workspace ws;
    bool moved;
    resume_workspace(run, p->row.id, p, &ws);
    int rc = !resume_has_leftovers(run, p)                                  ? 0
             : save_dropped(run, p, &ws, err) || workspace_remove(&ws, err) ? -1
             : p->branch_commit ? git_move_ref(&at, ws.branch, p->branch_commit, "",
                                               "anabranch: dropped", &moved, err)
                                : 0;
    workspace_done(&ws);
    return rc ? rc : store_drop_task(run->store, run->id, p->row.id, err);
}

/* --- beginning ---------------------------------------------------------------------------- */

static int record_all(struct run *run, struct err *err)
{
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++)
        recall_task(run, t);
    if (record_begin(run, err))
        return -1;
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++) {
        if (run->resume->tasks[t].step == RESUME_RUN)
            forget(&run->tasks[t]);
    }
    return 0;
}

int resume_begin(struct run *run, struct err *err)
{
    const struct resume *r = run->resume;
    if (run->base && (clear_locks(run, err) || clear_halves(run, err) || restore_tip(run, err)))
        return -1;
    if (record_all(run, err))
        return -1;
    for (size_t i = 0; i < r->dropped_count; i++) {
        if (run->base ? drop(run, r->dropped[i], err)
                      : store_drop_task(run->store, run->id, r->dropped[i]->row.id, err))
            return -1;
    }
    return saved_write(run, err); /* when all that follows from an edit is written down */
}

/* --- going -------------------------------------------------------------------------------- */

static int clear_own_locks(const struct job *job, struct err *err)
{
    autofree char *index = job_file(job, "index.lock");
    autofree char *salvage = job_file(job, "salvage.index.lock");
    return dirs_remove_endings(job->ws.admin, ".lock", err) || dirs_remove(index, err) ||
                   dirs_remove(salvage, err)
               ? -1
               : 0;
}

/* The last attempt of a task as a job, with what is there of its workspace. */
static struct job *reopen(struct run *run, uint32_t task)
{
    const struct past_task *past = run->resume->tasks[task].past;
    struct job *job = job_new(run, task, past->row.attempts);
    autofree char *tmp = job_file(job, "tmp");
    struct err err = {0};
    struct stat st;
    if (dirs_make(tmp, &err))
        record_error(run, task, &err);
    if (!run->base) {
        job->cwd = mem_str(run->pf->project);
        return job;
    }
    prepare_adopt(job, job->attempt);
    if (clear_own_locks(job, &err))
        record_error(run, task, &err);
    bool tree = lstat(job->ws.path, &st) == 0;
    bool worked = past->state > TASK_PREPARING && past->state != TASK_LANDED;
    /* What an agent left in a tree without its other half is still its work. */
    if (tree && worked && !workspace_is_whole(&job->ws) && workspace_restore(&job->ws, &err))
        record_error(run, task, &err);
    job->prepared = tree && past->state > TASK_PREPARING;
    job->agent_started = tree && worked; /* else there is nothing to save */
    return job;
}

/* Commits of a workspace whose tree is gone. */
static bool save_branch(struct job *job, const struct past_task *past)
{
    bool saved = job->agent_started || !past->branch_commit ||
                 past_has_commit(&job->run->resume->past, past->branch_commit) ||
                 strcmp(past->branch_commit, task_run(job)->start) == 0;
    return saved || job_salvage_commit(job, past->branch_commit);
}

/* Its turn comes when what is left of its last attempt is out of the way. */
static void run_again(struct run *run, uint32_t task)
{
    const struct past_task *past = run->resume->tasks[task].past;
    if (!resume_has_leftovers(run, past))
        return;
    sched_hold(&run->sched, task);
    struct job *job = reopen(run, task);
    if (save_branch(job, past)) {
        job_discard(job);
    } else {
        job->has_workspace = false; /* what there is of it stays */
        job_fail(job, FAILURE_INTERNAL, "what is on its branch could not be saved");
    }
}

static void land(struct run *run, uint32_t task)
{
    const struct past_task *past = run->resume->tasks[task].past;
    struct task_run *tr = &run->tasks[task];
    struct git_place at = run_place(run);
    struct err err = {0};
    bool moved;
    set(&tr->commit, &tr->status.commit, resume_commit(past));
    set(&tr->reason, &tr->status.reason, NULL);
    tr->status.finished = 0;
    tr->status.state = TASK_LANDING;
    if (!past->branch_commit &&
        git_move_ref(&at, tr->branch, "", tr->commit, "anabranch: resume", &moved, &err))
        record_error(run, task, &err);
    sched_hold(&run->sched, task);
    struct job *job = reopen(run, task);
    bool whole = workspace_is_whole(&job->ws);
    if (!whole && !job->agent_started) { /* made anew, by a worker */
        tr->lands = true;
        job->has_workspace = false;
        job_free(job);
        sched_ready(&run->sched, task);
    } else if (whole && (past->state != TASK_CONFLICTED ||
                         job_salvage_since(job, tr->commit, "was in conflict"))) {
        land_queue(job);
    } else {
        job_fail(job, FAILURE_INTERNAL, "what is in its workspace could not be saved");
    }
}

static void take_up_session(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    struct job *job = reopen(run, task);
    (void)job_salvage_since(job, tr->start,
                            "the run was interrupted"); /* a failure is told; nothing is removed */
    job->has_workspace = false;                         /* it is the next attempt's */
    job_free(job);
    tr->session = mem_str(run->resume->tasks[task].session);
}

static void tell_landed(struct run *run, uint32_t task)
{
    struct arena a = {0};
    struct node *data = build_map(&a);
    build_put_string(&a, data, "commit", run->tasks[task].landed);
    build_put_string(&a, data, "base", run->base);
    run->tasks[task].status.state = TASK_LANDED;
    record_step(run, EV_TASK_LANDED, task, data);
    arena_done(&a);
}

/* It has landed: what is left of it goes, as it would have. */
static void found(struct run *run, uint32_t task)
{
    const struct past *all = &run->resume->past;
    const struct past_task *past = run->resume->tasks[task].past;
    struct task_run *tr = &run->tasks[task];
    const char *commit = past_has_commit(all, past->row.landed) ? past->row.landed
                         : past->row.commit                     ? past->row.commit
                                                                : past->branch_commit;
    set(&tr->landed, &tr->status.landed, commit);
    set(&tr->reason, &tr->status.reason, NULL);
    tell_landed(run, task);
}

static void keep(struct run *run, uint32_t task)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    if (rt->step == RESUME_FOUND)
        found(run, task);
    if (resume_has_leftovers(run, rt->past)) {
        struct job *job = reopen(run, task);
        if (run->opts.keep)
            job_free(job); /* by which it becomes the user's */
        else
            job_tidy(job);
    }
    task_ended(run, task);
}

static void go(struct run *run, uint32_t task)
{
    switch (run->resume->tasks[task].step) {
    case RESUME_KEEP:
    case RESUME_FOUND:
        keep(run, task);
        break;
    case RESUME_LAND:
        land(run, task);
        break;
    case RESUME_COMMIT:
        sched_hold(&run->sched, task);
        job_stage(reopen(run, task));
        break;
    case RESUME_CONTINUE:
        take_up_session(run, task);
        break;
    case RESUME_RUN:
        run_again(run, task);
        break;
    case RESUME_LEAVE:
        task_ended(run, task);
        break;
    case RESUME_NOT_WANTED:
    case RESUME_STEP_COUNT_:
        break;
    }
}

static void tell_resumed(struct run *run)
{
    const struct resume *r = run->resume;
    struct arena a = {0};
    struct node *data = build_map(&a), *steps = build_put_map(&a, data, "steps");
    for (int step = RESUME_KEEP; step < RESUME_STEP_COUNT_; step++)
        build_put_int(&a, steps, resume_step_names[step], (int64_t)r->count[step]);
    build_put_int(&a, steps, "dropped", (int64_t)r->dropped_count);
    record(run, EV_RUN_RESUMED, -1, data);
    arena_done(&a);
}

static bool is_settled(const struct run *run, uint32_t task)
{
    enum resume_step step = run->resume->tasks[task].step;
    return step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_LEAVE;
}

/* What stays as it is comes first, from the last task on: what landed when a task that it needs had
 * not failed yet is not skipped for that. */
void resume_go(struct run *run)
{
    const struct graph *g = &run->pf->graph;
    tell_resumed(run);
    for (size_t i = g->n; i-- > 0 && !run->failed;) {
        if (is_settled(run, g->order[i]))
            go(run, g->order[i]);
    }
    for (size_t i = 0; i < g->n && !run->failed; i++) {
        if (!is_settled(run, g->order[i]))
            go(run, g->order[i]);
    }
}
