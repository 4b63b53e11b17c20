/*
 * Ends an attempt: in success, in failure or in a conflict. After a failure, we salvage the work
 * first.
 */
#include "run/attempt/end.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "git/unsynced.h"
#include "run/agent/logs.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/attempt/salvage.h"
#include "run/limits/park.h"
#include "run/prepare/delete_later.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/pool.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/rework/follow_up.h"
#include "run/rework/message.h"
#include "run/rework/repair.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/task.h"
#include "run/watch/watch.h"
#include "sys/fs/file.h"
#include "sys/fs/known_folder.h"
#include "workspace/workspace_hold.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int remove_tree(struct attempt *attempt, struct err *err)
{
    autostrv struct strv left = {0};
    struct err none = {0};
    (void)workspace_enter(&attempt->ws,
                          &none); /* fails if the folder is not ours; then we do not remove it */
    bool later = delete_later_is_worth_it(attempt) || pool_wants(attempt);
    if (workspace_retire(&attempt->ws, &left, err))
        return -1;
    const char *admin = known_folder_path(left.v[0]), *tree = known_folder_path(left.v[1]);
    overlay_fill_keep_index(attempt, admin);
    if (!later)
        return known_folder_remove(left.v[0], err) || known_folder_remove(left.v[1], err) ? -1 : 0;
    if (pool_keep(attempt, admin, tree))
        return known_folder_remove(left.v[0], err);
    return delete_later(attempt->run, attempt->task, &left, err);
}

void attempt_drop_branches(struct run *run)
{
    struct git_place at = run_place(run);
    struct err err = {0};
    if (run->base.spent_branches.n &&
        (unsynced_settle(run->pf->repo.common, &err) ||
         git_delete_refs(&at, &run->base.spent_branches, "anabranch: done", &err)))
        record_error(run, -1, &err);
    strv_done(&run->base.spent_branches);
}

/* Removes the workspace. attempt_drop_branches() deletes its branch, whose commits are safe
 * elsewhere. */
static void retire_workspace(struct attempt *attempt)
{
    struct git_place at = run_place(attempt->run);
    autobuf struct buf where = BUF_INIT;
    struct err err = {0};
    if (!attempt->has_workspace)
        return;
    attempt->has_workspace = false;
    if (remove_tree(attempt, &err))
        record_error(attempt->run, attempt->task, &err);
    else
        record(attempt->run, EV_WORKSPACE_REMOVED, attempt->task, NULL);
    task_run(attempt)->status.workspace = NULL;
    if (git_resolve(&at, attempt->ws.branch, &where, &err) == 0)
        strv_pushl(&attempt->run->base.spent_branches, attempt->ws.branch, where.s, NULL);
    task_run(attempt)->status.branch = NULL;
}

static void remove_workspace(struct attempt *attempt)
{
    retire_workspace(attempt);
    attempt_drop_branches(attempt->run);
}

static struct node *failure_data(struct arena *a, struct attempt *attempt)
{
    const struct task_run *tr = task_run(attempt);
    struct node *data = node_new_map(a);
    autobuf struct buf output = BUF_INIT;
    logs_explain(attempt, tr->status.failure, &output);
    node_put_string(a, data, "class", failure_names[tr->status.failure]);
    node_put_string(a, data, "reason", tr->reason);
    node_put_string(a, data, "output", output.len ? output.s : NULL);
    node_put_string(a, data, "log", attempt->dir);
    node_put_string(a, data, "unverified", attempt->landing.broken ? tr->commit : NULL);
    return data;
}

static void add_limit(struct arena *a, struct attempt *attempt, struct node *data)
{
    const struct failure_outcome *o = &attempt->outcome;
    bool resumes = o->workspace == WORKSPACE_PASSED_ON;
    autobuf struct buf reset = BUF_INIT;
    timestamp_format(&reset, o->resets_at);
    node_put_string(a, data, "engine", run_engine_name(attempt->run, attempt->task));
    node_put_int(a, data, "lane", run_lane(attempt->run, attempt->task));
    node_put_int(a, data, "delay_ms", o->delay_ms);
    node_put_string(a, data, "reset", o->resets_at ? reset.s : NULL);
    node_put_string(a, data, "session", resumes ? attempt_session(attempt) : NULL);
}

/* Writes the feedback to a file. A resume reads it if we die before the next attempt starts. */
static void write_feedback(struct attempt *attempt)
{
    const char *text = task_run(attempt)->feedback;
    autofree char *path = attempt_file(attempt, "feedback");
    struct err err = {0};
    if (attempt->has_feedback && file_replace_private(path, text, strlen(text), &err))
        record_error(attempt->run, attempt->task, &err);
}

static void park_task(struct attempt *attempt, struct arena *a, struct node *data)
{
    add_limit(a, attempt, data);
    task_report(attempt->run, attempt->task, ENGINE_WAITS);
    record_step(attempt->run, EV_TASK_PARKED, attempt->task, data);
    park_wait(attempt);
}

/* Retries at once, in the same session. */
static void retry_in_session(struct attempt *attempt, struct arena *a, struct node *data)
{
    const struct task_run *tr = task_run(attempt);
    node_put_int(a, data, "delay_ms", 0);
    node_put_string(a, data, "session", attempt_session(attempt));
    node_put_string(a, data, "tree", repair_words[tr->life->repair]);
    node_put_string(a, data, "origin", tr->first_start);
    task_report(attempt->run, attempt->task, ENGINE_WAITS);
    record_step(attempt->run, EV_TASK_RETRIED, attempt->task, data);
    repair_wait(attempt);
}

static void retry_anew(struct attempt *attempt, struct arena *a, struct node *data)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    int64_t delay = attempt->outcome.delay_ms;
    node_put_int(a, data, "delay_ms", delay);
    if (attempt->outcome.kind == OUTCOME_FALL_BACK)
        node_put_bool(a, data, "fallback", true);
    record(run, EV_TASK_RETRIED, task, data);
    attempt_free(attempt);
    task_retry_later(run, task, delay);
}

static void fail_task(struct attempt *attempt, struct arena *a, struct node *data)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    bool drains = attempt->outcome.drains;
    follow_up_fail(run, task, a, data);
    attempt_free(attempt);
    task_end(run, task);
    if (drains)
        run_drain(run);
}

/* The run may have ended since we decided: then it retries nothing. */
static void finish_failure(struct attempt *attempt)
{
    bool ends = engine_is_ending(attempt->run->engine);
    struct arena a = {0};
    struct node *data = failure_data(&a, attempt);
    if (attempt->outcome.workspace == WORKSPACE_REMOVED)
        remove_workspace(attempt);
    switch (ends ? OUTCOME_FAIL : attempt->outcome.kind) {
    case OUTCOME_PARK:
        park_task(attempt, &a, data);
        break;
    case OUTCOME_REPAIR:
        retry_in_session(attempt, &a, data);
        break;
    case OUTCOME_RETRY:
    case OUTCOME_FALL_BACK:
        retry_anew(attempt, &a, data);
        break;
    case OUTCOME_LEAVE_CONFLICT: /* give_up_repair() failed */
    case OUTCOME_FAIL:
        fail_task(attempt, &a, data);
        break;
    }
    arena_done(&a);
}

static void leave_in_conflict(struct attempt *attempt, const char *files);

/* The agent did not resolve the conflict: restore the state before its repair, and leave branch and
 * workspace for a person. */
static void give_up_repair(struct attempt *attempt)
{
    const struct task_run *tr = task_run(attempt);
    autobuf struct buf files = BUF_INIT;
    autofree char *failed = mem_printf("%s: %s", failure_names[tr->status.failure], tr->reason);
    struct err err = {0};
    if (repair_give_up(attempt, &files, &err)) {
        record_error(attempt->run, attempt->task, &err);
        finish_failure(attempt);
        return;
    }
    if (tr->status.failure != FAILURE_CONFLICT)
        buf_addf(&files, " (not resolved: %s)", failed);
    leave_in_conflict(attempt, files.s);
}

static struct failure_facts find_facts(const struct attempt *attempt, enum failure failure)
{
    return (struct failure_facts){
        .failure = failure,
        .by_user = attempt->stopped == STOP_USER,
        .keeps_workspaces = attempt->run->opts.keep,
        .has_workspace = attempt->has_workspace,
        .verification_broken = attempt->landing.broken,
        .has_candidate = attempt->landing.commit.len > 0,
        .has_feedback = attempt->has_feedback,
    };
}

/* Saves the work, unless the next attempt continues in the workspace as it is. */
static bool save_work(struct attempt *attempt, const struct failure_outcome *at_limit)
{
    bool untouched = !attempt->prepare.done &&
                     !attempt->prepare.after_prepare; /* only we have written to the workspace */
    return at_limit->workspace == WORKSPACE_PASSED_ON || !attempt->has_workspace || untouched ||
           attempt_salvage(attempt);
}

static void save_and_decide(struct attempt *attempt, enum failure failure)
{
    struct run *run = attempt->run;
    struct failure_facts f = find_facts(attempt, failure);
    struct action a;
    if (failure == FAILURE_LIMIT && !engine_is_ending(run->engine) && !f.by_user)
        f.at_limit = park_decide(attempt);
    f.saved = save_work(attempt, &f.at_limit);
    if (f.has_feedback) /* this reads files */
        f.session = repair_session(attempt);
    const struct engine_event ev = {.kind = ENGINE_ATTEMPT_FAILED,
                                    .task = attempt->task,
                                    .random = retry_random(),
                                    .failure = f};
    if (run_ask(run, &ev, &a))
        attempt->outcome = a.outcome;
}

/* Prepares the task for what we have decided. */
static void prepare_task(struct attempt *attempt)
{
    struct failure_outcome *o = &attempt->outcome;
    struct err err = {0};
    if (o->repair && repair_set_up(attempt, o->repair, &err)) {
        record_error(attempt->run, attempt->task, &err);
        failure_drop_repair(o);
    }
    const struct engine_event ev = {.kind = ENGINE_FAILURE_CARRIED_OUT,
                                    .task = attempt->task,
                                    .outcome = *o,
                                    .class = task_run(attempt)->status.failure};
    (void)run_report(attempt->run, &ev);
}

void do_save(struct run *run, const struct action *a, const struct engine_event *ev)
{
    struct attempt *attempt = run->tasks[a->task].attempt;
    (void)ev;
    message_pass_on(attempt);
    save_and_decide(attempt, task_run(attempt)->status.failure);
    prepare_task(attempt);
    write_feedback(attempt);
    if (attempt->outcome.kind == OUTCOME_LEAVE_CONFLICT)
        give_up_repair(attempt);
    else if (attempt->outcome.workspace == WORKSPACE_REMOVED)
        prepare_teardown(attempt, finish_failure);
    else
        finish_failure(attempt);
}

static void finish_removal(struct attempt *attempt)
{
    remove_workspace(attempt);
    record_task(attempt->run, attempt->task);
    attempt_free(attempt);
}

static void finish_discard(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    remove_workspace(attempt);
    attempt_free(attempt);
    if (run->engine->tasks[task].state == TASK_SKIPPED) { /* because of a task that stays failed */
        record_task(run, task);
        return;
    }
    task_report_and_record(run, task, ENGINE_WAITS);
    task_report(run, task, ENGINE_READY);
}

void attempt_discard(struct attempt *attempt, const char *why)
{
    if (attempt_salvage_since(attempt, task_run(attempt)->start, why))
        prepare_teardown(attempt, finish_discard);
    else
        attempt_fail(attempt, FAILURE_INTERNAL, "could not save the files of its workspace");
}

/* Ends a successful task. Its dependants do not wait for the teardown. */
static void finish_task(struct attempt *attempt, bool removes)
{
    bool later = removes && prepare_has_teardown(attempt);
    if (removes && !later)
        retire_workspace(attempt);
    task_end(attempt->run, attempt->task);
    if (later)
        prepare_teardown(attempt, finish_removal);
    else
        attempt_free(attempt);
}

/* Salvages what is not safe yet: if the task landed, only the rest; otherwise everything. */
static bool salvage_remaining(struct attempt *attempt)
{
    return task_run(attempt)->landed ? attempt_salvage_rest(attempt) : attempt_salvage(attempt);
}

void attempt_tidy(struct attempt *attempt)
{
    if (!attempt->prepare.done || !workspace_is_whole(&attempt->ws) || salvage_remaining(attempt))
        prepare_teardown(attempt, finish_removal);
    else
        attempt_free(attempt);
}

/* Makes the workspace usable for a person: on its branch, with a matching index. */
static void settle_workspace(struct attempt *attempt)
{
    autofree char *index = attempt_file(attempt, "index");
    struct err err = {0};
    /* The verification may have moved the index already. A git that died with the agent may have
     * left the lock. */
    if (workspace_enter(&attempt->ws, &err) || workspace_put(&attempt->ws, index, "index", &err) ||
        workspace_drop(&attempt->ws, "index.lock", &err)) {
        record_error(attempt->run, attempt->task, &err);
        return;
    }
    struct git_place at = workspace_place(&attempt->ws);
    if (git_call(&at, NULL, &err, "checkout", "--quiet", "--force",
                 attempt->ws.branch + strlen("refs/heads/"), NULL))
        record_error(attempt->run, attempt->task, &err);
    workspace_release(&attempt->ws);
}

/* If the user keeps workspaces, or there is a teardown, attempt_landed() deals with the workspace.
 */
void attempt_leave(struct attempt *attempt)
{
    if (!attempt->run->opts.keep && !prepare_has_teardown(attempt) && attempt_salvage_rest(attempt))
        retire_workspace(attempt);
}

void attempt_landed(struct attempt *attempt)
{
    bool kept = attempt->run->opts.keep || !attempt_salvage_rest(attempt);
    if (kept)
        settle_workspace(attempt);
    finish_task(attempt, !kept);
}

/* Leaves branch and workspace for a person, who resolves the conflict. */
static void leave_in_conflict(struct attempt *attempt, const char *files)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    struct arena a = {0};
    autofree char *reason = mem_printf("conflicts with what has landed: %s", files);
    attempt_set_reason(attempt, FAILURE_CONFLICT, reason);
    settle_workspace(attempt);
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "files", files);
    node_put_string(&a, data, "branch", task_run(attempt)->status.branch);
    node_put_string(&a, data, "workspace", attempt->ws.path);
    task_report(run, task, ENGINE_CONFLICTED);
    record_task_event(run, EV_TASK_CONFLICTED, task, data);
    arena_done(&a);
    shared_conflicted(run, task);
    task_end(run, task);
    attempt_free(attempt);
}

void do_leave_conflict(struct run *run, const struct action *a, const struct engine_event *ev)
{
    struct attempt *attempt = run->tasks[a->task].attempt;
    autofree char *files = steal_ptr(attempt->conflict);
    (void)ev;
    leave_in_conflict(attempt, files);
}

void do_fail_conflict(struct run *run, const struct action *a, const struct engine_event *ev)
{
    struct attempt *attempt = run->tasks[a->task].attempt;
    autofree char *files = steal_ptr(attempt->conflict);
    (void)ev;
    autofree char *told = mem_printf(
        run->engine->tasks[a->task].in_conflict
            ? "These files are still in conflict: %s\n\nThey have git's conflict markers, or "
              "are unmerged and unchanged."
            : "Your last attempt at this conflicted with what had landed meanwhile: %s\n\nDo "
              "the task on top of that.",
        files);
    if (a->yes)
        attempt_tell(attempt, told);
    attempt_fail(attempt, FAILURE_CONFLICT, "conflicts with what has landed: %s", files);
}

static void finish_unchanged(struct attempt *attempt)
{
    task_report(attempt->run, attempt->task, ENGINE_UNCHANGED);
    record_task_event(attempt->run, EV_TASK_DONE, attempt->task, NULL);
}

void do_end_unlanded(struct run *run, const struct action *a, const struct engine_event *ev)
{
    struct attempt *attempt = run->tasks[a->task].attempt;
    (void)ev;
    bool saved = attempt_salvage(attempt), kept = run->opts.keep && !task_of(attempt)->read_only;
    if (task_run(attempt)->landed_before) /* its agent answered, and changed nothing more */
        follow_up_restore(run, attempt->task);
    else
        finish_unchanged(attempt);
    finish_task(attempt, saved && !kept);
    attempt_drop_branches(run);
}
