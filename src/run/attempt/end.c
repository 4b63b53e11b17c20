/*
 * Ends an attempt: in success, in failure or in a conflict. After a failure, we salvage the work
 * first.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "git/unsynced.h"
#include "run/attempt/inputs.h"
#include "run/attempt/logs.h"
#include "run/limits/lane.h"
#include "run/limits/park.h"
#include "run/prepare/delete_later.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/pool.h"
#include "run/prepare/prepare.h"
#include "run/rework/repair.h"
#include "run/rework/request.h"
#include "run/watch/watch.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "workspace/workspace_hold.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int remove_tree(struct attempt *job, struct err *err)
{
    autostrv struct strv left = {0};
    struct err none = {0};
    (void)workspace_enter(&job->ws,
                          &none); /* fails if the folder is not ours; then we do not remove it */
    bool later = delete_later_is_worth_it(job) || pool_wants(job);
    if (workspace_retire(&job->ws, &left, err))
        return -1;
    overlay_fill_keep_index(job, left.v[0]);
    if (!later)
        return dirs_remove(left.v[0], err) || dirs_remove(left.v[1], err) ? -1 : 0;
    if (pool_keep(job, left.v[0], left.v[1]))
        return dirs_remove(left.v[0], err);
    return delete_later(job->run, job->task, &left, err);
}

void attempt_drop_branches(struct run *run)
{
    struct git_place at = run_place(run);
    struct err err = {0};
    if (run->spent.n && (unsynced_settle(run->pf->repo.common, &err) ||
                         git_delete_refs(&at, &run->spent, "anabranch: done", &err)))
        record_error(run, -1, &err);
    strv_done(&run->spent);
}

/* Removes the workspace. attempt_drop_branches() deletes its branch, whose commits are safe
 * elsewhere. */
static void retire_workspace(struct attempt *job)
{
    struct git_place at = run_place(job->run);
    autobuf struct buf where = BUF_INIT;
    struct err err = {0};
    if (!job->has_workspace)
        return;
    job->has_workspace = false;
    if (remove_tree(job, &err))
        record_error(job->run, job->task, &err);
    else
        record(job->run, EV_WORKSPACE_REMOVED, job->task, NULL);
    task_run(job)->status.workspace = NULL;
    if (git_resolve(&at, job->ws.branch, &where, &err) == 0)
        strv_pushl(&job->run->spent, job->ws.branch, where.s, NULL);
    task_run(job)->status.branch = NULL;
}

static void remove_workspace(struct attempt *job)
{
    retire_workspace(job);
    attempt_drop_branches(job->run);
}

static void set_reason(struct attempt *job, enum failure failure, const char *reason)
{
    struct task_run *tr = task_run(job);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    struct secrets_cut cut = {.end = strlen(reason) >= DIALECT_TEXT_MAX};
    secrets_mask_cut(&job->run->secrets, reason, strlen(reason), cut, &masked);
    text_harmless(&safe, masked.s, masked.len);
    free(tr->reason);
    tr->reason = buf_steal(&safe);
    tr->status.reason = tr->reason;
    tr->status.failure = failure;
    tr->status.exit_code = job->exit_code;
}

static struct node *failure_data(struct arena *a, struct attempt *job)
{
    const struct task_run *tr = task_run(job);
    struct node *data = node_new_map(a);
    autobuf struct buf output = BUF_INIT;
    logs_explain(job, tr->status.failure, &output);
    node_put_string(a, data, "class", failure_names[tr->status.failure]);
    node_put_string(a, data, "reason", tr->reason);
    node_put_string(a, data, "output", output.len ? output.s : NULL);
    node_put_string(a, data, "log", job->dir);
    node_put_string(a, data, "unverified", job->unverified ? tr->commit : NULL);
    return data;
}

static void add_limit(struct arena *a, struct attempt *job, struct node *data)
{
    autobuf struct buf reset = BUF_INIT;
    timestamp_format(&reset, job->reset);
    node_put_string(a, data, "engine", run_engine_name(job->run, job->task));
    node_put_int(a, data, "lane", lane_index(job->run, job->task));
    node_put_int(a, data, "delay_ms", job->retry_delay);
    node_put_string(a, data, "reset", job->reset ? reset.s : NULL);
    node_put_string(a, data, "session", job->keeps ? park_session(job) : NULL);
}

/* Writes the feedback to a file. A resume reads it if we die before the next attempt starts. */
static void write_feedback(struct attempt *job)
{
    const char *text = task_run(job)->feedback;
    autofree char *path = attempt_file(job, "feedback");
    struct err err = {0};
    if (job->told_why && file_replace_private(path, text, strlen(text), &err))
        record_error(job->run, job->task, &err);
}

/* Retries at once, in the same session. */
static void retry_in_session(struct attempt *job, struct arena *a, struct node *data)
{
    const struct task_run *tr = task_run(job);
    node_put_int(a, data, "delay_ms", 0);
    node_put_string(a, data, "session", park_session(job));
    node_put_string(a, data, "tree", repair_words[tr->repair]);
    node_put_string(a, data, "origin", tr->origin);
    task_run(job)->status.state = TASK_WAITING;
    record_step(job->run, EV_TASK_RETRIED, job->task, data);
    repair_wait(job);
}

static void finish_failure(struct attempt *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    enum failure failure = task_run(job)->status.failure;
    bool by_user = job->stopped == STOP_USER;
    int64_t delay = run->stopping || run->failed ? -1 : job->retry_delay;
    struct arena a = {0};
    struct node *data = failure_data(&a, job);
    if (job->removes)
        remove_workspace(job);
    if (delay >= 0 && job->parks) {
        add_limit(&a, job, data);
        task_run(job)->status.state = TASK_WAITING;
        record_step(run, EV_TASK_PARKED, task, data);
        park_wait(job);
    } else if (delay >= 0 && job->mends) {
        retry_in_session(job, &a, data);
    } else if (delay >= 0) {
        node_put_int(&a, data, "delay_ms", delay);
        if (job->falls_back)
            node_put_bool(&a, data, "fallback", true);
        record(run, EV_TASK_RETRIED, task, data);
        attempt_free(job);
        task_retry_later(run, task, delay);
    } else {
        task_set_state(run, task, TASK_FAILED);
        record(run, EV_TASK_FAILED, task, data);
        attempt_free(job);
        task_end(run, task, TASK_FAILED);
        if (!by_user && run->pf->plan.tasks[task].retry.times[failure] == RETRY_STOP)
            run_drain(run);
    }
    arena_done(&a);
}

/* Returns the ms until the task continues without using a retry; -1: it does not wait for the
 * limit. */
static int64_t wait_or_fall_back(struct attempt *job)
{
    struct run *run = job->run;
    job->falls_back = lane_fall_back(run, job->task);
    if (!job->falls_back)
        return park(job);
    if (retry_parks(run, job->task)) /* spare other tasks the same limit */
        (void)lane_close(run, job->task, park_reset(job), task_run(job)->reason);
    return 0;
}

static void leave_in_conflict(struct attempt *job, const char *files);

/* The agent did not resolve the conflict: restore the state before its repair, and leave branch and
 * workspace for a person. */
static void give_up_repair(struct attempt *job)
{
    const struct task_run *tr = task_run(job);
    autobuf struct buf files = BUF_INIT;
    autofree char *failed = mem_printf("%s: %s", failure_names[tr->status.failure], tr->reason);
    struct err err = {0};
    if (repair_give_up(job, &files, &err)) {
        record_error(job->run, job->task, &err);
        finish_failure(job);
        return;
    }
    if (tr->status.failure != FAILURE_CONFLICT)
        buf_addf(&files, " (not resolved: %s)", failed);
    leave_in_conflict(job, files.s);
}

void attempt_fail(struct attempt *job, enum failure failure, const char *fmt, ...)
{
    autobuf struct buf reason = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&reason, fmt, ap);
    va_end(ap);
    set_reason(job, failure, reason.s);
    request_pass_on(job);

    struct run *run = job->run;
    bool ends = run->stopping || run->failed || job->stopped == STOP_USER;
    int64_t wait = failure == FAILURE_LIMIT && !ends ? wait_or_fall_back(job) : -1;
    bool untouched = !job->prepared && !job->ready; /* only we have written to the workspace */
    bool saved = job->keeps || !job->has_workspace || untouched || attempt_salvage(job);
    /* A retry needs the place of the workspace. If we cannot salvage that, a resume has to retry.
     */
    job->retry_delay = ends || !saved || job->unverified ? -1
                       : wait >= 0                       ? wait
                                                         : retry_delay(run, job->task, failure);
    if (job->retry_delay >= 0 && wait < 0)
        repair_decide(job, failure);
    write_feedback(job);
    job->removes = !job->keeps && saved && !(run->opts.keep && job->retry_delay < 0);
    if (job->retry_delay < 0 && !ends && task_run(job)->in_conflict && job->has_workspace)
        give_up_repair(job);
    else if (job->removes)
        prepare_teardown(job, finish_failure);
    else
        finish_failure(job);
}

void attempt_fail_stopped(struct attempt *job)
{
    const struct run *run = job->run;
    if (run->failed)
        attempt_fail(job, FAILURE_INTERNAL, "the run could not continue");
    else if (run->stopping)
        attempt_fail(job, FAILURE_STOPPED, "the run was stopped");
    else if (job->stopped == STOP_BUDGET)
        attempt_fail(job, FAILURE_BUDGET, "%s is used up",
                     run->budget_spent ? "the run's budget" : "its budget");
    else
        attempt_fail(job, FAILURE_STOPPED, "a person stopped it");
}

void attempt_error(struct attempt *job, const struct err *err)
{
    attempt_fail(job, FAILURE_INTERNAL, "%s", err->msg);
}

static void finish_removal(struct attempt *job)
{
    remove_workspace(job);
    record_task(job->run, job->task);
    attempt_free(job);
}

static void finish_discard(struct attempt *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    remove_workspace(job);
    attempt_free(job);
    if (run->tasks[task].status.state == TASK_SKIPPED) { /* because of a task that stays failed */
        record_task(run, task);
        return;
    }
    task_set_state(run, task, TASK_WAITING);
    sched_ready(&run->sched, task);
}

void attempt_discard(struct attempt *job, const char *why)
{
    if (attempt_salvage_since(job, task_run(job)->start, why))
        prepare_teardown(job, finish_discard);
    else
        attempt_fail(job, FAILURE_INTERNAL, "could not save the files of its workspace");
}

/* Ends a successful task. Its dependants do not wait for the teardown. */
static void finish_task(struct attempt *job, enum task_state state, bool removes)
{
    bool later = removes && prepare_has_teardown(job);
    if (removes && !later)
        retire_workspace(job);
    task_end(job->run, job->task, state);
    if (later)
        prepare_teardown(job, finish_removal);
    else
        attempt_free(job);
}

/* Salvages what is not safe yet: if the task landed, only the rest; otherwise everything. */
static bool salvage_remaining(struct attempt *job)
{
    return task_run(job)->landed ? attempt_salvage_rest(job) : attempt_salvage(job);
}

void attempt_tidy(struct attempt *job)
{
    if (!job->prepared || !workspace_is_whole(&job->ws) || salvage_remaining(job))
        prepare_teardown(job, finish_removal);
    else
        attempt_free(job);
}

/* Makes the workspace usable for a person: on its branch, with a matching index. */
static void settle_workspace(struct attempt *job)
{
    autofree char *index = attempt_file(job, "index");
    struct err err = {0};
    /* The verification may have moved the index already. A git that died with the agent may have
     * left the lock. */
    if (workspace_enter(&job->ws, &err) || workspace_put(&job->ws, index, "index", &err) ||
        workspace_drop(&job->ws, "index.lock", &err)) {
        record_error(job->run, job->task, &err);
        return;
    }
    struct git_place at = workspace_place(&job->ws);
    if (git_call(&at, NULL, &err, "checkout", "--quiet", "--force",
                 job->ws.branch + strlen("refs/heads/"), NULL))
        record_error(job->run, job->task, &err);
    workspace_release(&job->ws);
}

/* If the user keeps workspaces, or there is a teardown, attempt_landed() deals with the workspace.
 */
void attempt_leave(struct attempt *job)
{
    if (!job->run->opts.keep && !prepare_has_teardown(job) && attempt_salvage_rest(job))
        retire_workspace(job);
}

void attempt_landed(struct attempt *job)
{
    bool kept = job->run->opts.keep || !attempt_salvage_rest(job);
    if (kept)
        settle_workspace(job);
    finish_task(job, TASK_LANDED, !kept);
}

/* Leaves branch and workspace for a person, who resolves the conflict. */
static void leave_in_conflict(struct attempt *job, const char *files)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    struct arena a = {0};
    autofree char *reason = mem_printf("conflicts with what has landed: %s", files);
    set_reason(job, FAILURE_CONFLICT, reason);
    settle_workspace(job);
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "files", files);
    node_put_string(&a, data, "branch", task_run(job)->status.branch);
    node_put_string(&a, data, "workspace", job->ws.path);
    task_set_state(run, task, TASK_CONFLICTED);
    record(run, EV_TASK_CONFLICTED, task, data);
    arena_done(&a);
    shared_conflicted(run, task);
    task_end(run, task, TASK_CONFLICTED);
    attempt_free(job);
}

void attempt_conflicted(struct attempt *job, const char *files)
{
    const struct run *run = job->run;
    bool again = !run->stopping && !run->failed && retry_is_left(run, job->task, FAILURE_CONFLICT);
    autofree char *told = mem_printf(
        task_run(job)->in_conflict
            ? "These files are still in conflict: %s\n\nThey have git's conflict markers, or "
              "are unmerged and unchanged."
            : "Your last attempt at this conflicted with what had landed meanwhile: %s\n\nDo "
              "the task on top of that.",
        files);
    if (again)
        attempt_tell(job, told);
    if (again || task_run(job)->in_conflict)
        attempt_fail(job, FAILURE_CONFLICT, "conflicts with what has landed: %s", files);
    else
        leave_in_conflict(job, files);
}

/* The agent of a landed task answered a message and changed nothing more. */
static void restore_landing(struct attempt *job)
{
    struct task_run *tr = task_run(job);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "commit", tr->landed_before);
    node_put_string(&a, data, "base", job->run->base);
    node_put_bool(&a, data, "unchanged", true);
    tr->status.landed = tr->landed = steal_ptr(tr->landed_before);
    free(tr->commit);
    tr->status.commit = tr->commit = steal_ptr(tr->committed_before);
    task_set_state(job->run, job->task, TASK_LANDED);
    record(job->run, EV_TASK_LANDED, job->task, data);
    arena_done(&a);
}

static void finish_unchanged(struct attempt *job)
{
    task_set_state(job->run, job->task, TASK_DONE);
    record(job->run, EV_TASK_DONE, job->task, NULL);
}

void attempt_unlanded(struct attempt *job)
{
    struct run *run = job->run;
    bool saved = attempt_salvage(job), kept = run->opts.keep && !task_of(job)->read_only;
    if (task_run(job)->landed_before)
        restore_landing(job);
    else
        finish_unchanged(job);
    finish_task(job, task_run(job)->status.state, saved && !kept);
    attempt_drop_branches(run);
}
