/*
 * Makes a commit that may land from the files in an agent's workspace.
 */
#include "run/commit/commit.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/config/frozen_config.h"
#include "run/agent/inputs.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/commit/commit_job.h"
#include "run/commit/own_work.h"
#include "run/commit/scope.h"
#include "run/commit/unresolved.h"
#include "run/land/queue.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/prepare.h"
#include "run/process/output_limits.h"
#include "run/process/plan_command.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "run/watch/watch.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/guard/guard.h"
#include "workspace/commit/change_size.h"
#include "workspace/commit/commit.h"
#include "workspace/commit/stage.h"
#include "workspace/unmerged.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1 << 20, SLOW_ADD_MS = 2000 };

/* `git add` has been running for a while, and may never end. We measure the change while it runs.
 */
static void on_add_timer(void *ctx)
{
    struct attempt *attempt = ctx;
    struct change_limits limits = output_limits_of(attempt).change;
    struct change_bounds bounds = {limits.files, limits.bytes};
    struct git_place at = workspace_place(&attempt->ws);
    autofree char *index = attempt_file(attempt, "index");
    autochangesize struct change_size size = CHANGE_SIZE_INIT;
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    at.index = index;
    at.excludes = attempt->prepare.excludes;
    if (change_measure(&at, &bounds, &size, &err))
        buf_addf(&text, "more than we could measure: %s", err.msg);
    else if (size.over)
        change_say(&bounds, size.files, size.bytes, &text);
    if (!text.len)
        return;
    attempt->staged.too_large = buf_steal(&text);
    process_order(attempt, GUARD_KILL);
}

static void fail_too_large(struct attempt *attempt, const char *why)
{
    autofree char *told =
        mem_printf("Your last attempt at this changed %s. Do the task with a smaller change.", why);
    attempt_tell(attempt, told);
    attempt_fail(attempt, FAILURE_SCOPE, "changed %s", why);
}

/* True if the change is within its limits. A change that we staged ourselves is small enough;
 * otherwise we measure the commit. */
static bool check_size(struct attempt *attempt, const struct commit_draft *draft,
                       const char *commit)
{
    struct change_limits limits = output_limits_of(attempt).change;
    struct change_bounds bounds = {limits.files, limits.bytes};
    autochangesize struct change_size size = CHANGE_SIZE_INIT;
    autobuf struct buf paths = BUF_INIT, text = BUF_INIT;
    struct err err = {0};
    bool small = !change_is_over(&bounds, STAGE_FILES_MAX, STAGE_BYTES_MAX);
    if (attempt->staged.without_git && small)
        return true;
    attempt->staged.is_whole = true;
    if (own_work_paths(attempt, draft, commit, &paths, &err) ||
        change_add_up(attempt->ws.path, &paths, &size, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    if (!change_is_over(&bounds, size.files, size.bytes))
        return true;
    change_say(&bounds, size.files, size.bytes, &text);
    fail_too_large(attempt, text.s);
    return false;
}

/* Returns the commit message; hooks may have edited it. */
static char *final_message(struct attempt *attempt)
{
    autofree char *path = attempt_file(attempt, "message");
    autobuf struct buf text = BUF_INIT;
    if (attempt->run->pf->plan.commit_hooks && file_read(path, MESSAGE_MAX, &text, NULL) == 0)
        return buf_steal(&text);
    return attempt_message(attempt);
}

static void fail_unchanged(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->agent.report;
    if (r->denials)
        attempt_fail(
            attempt, FAILURE_NO_CHANGE,
            "the agent changed nothing: it was not allowed to use %s (%d time%s denied); see "
            "'permissions'",
            r->denied.s, r->denials, r->denials == 1 ? "" : "s");
    else
        attempt_fail(attempt, FAILURE_NO_CHANGE, "the agent changed nothing");
}

/* Commits all files of the agent. */
static int make_commit(struct attempt *attempt, const struct commit_job *cj,
                       const struct commit_draft *draft, struct buf *ret_commit, bool *ret_as_one,
                       struct err *err)
{
    struct git_place at = run_place(attempt->run);
    struct commit_style style = {.keep_authors =
                                     attempt->run->pf->plan.land_author == LAND_AUTHOR_AGENT};
    buf_cut(&attempt->staged.branch_before, 0);
    if (own_work_is_dirty(attempt, draft, &style.as_one, err) ||
        git_resolve(&at, attempt->ws.branch, &attempt->staged.branch_before, err) ||
        commit_finish(cj, draft, style, ret_commit, err))
        return -1;
    *ret_as_one = style.as_one;
    if (draft->own.commits.n && !style.as_one)
        strv_push(&task_run(attempt)->own_heads, draft->own.commits.v[draft->own.commits.n - 1]);
    return 0;
}

/* The agent may have merged or rebased: move `start` to the base of its commits, so that others'
 * work does not count as its own. */
static void set_start(struct task_run *tr, const char *base)
{
    if (strcmp(tr->start, base) == 0)
        return;
    if (!tr->first_start)
        tr->first_start = steal_ptr(tr->start);
    free(tr->start);
    tr->start = mem_str(base);
}

static void record_commit(struct attempt *attempt, const struct commit_draft *draft, bool as_one)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "commit", task_run(attempt)->commit);
    if (as_one && draft->own.commits.n)
        node_put_int(&a, data, "squashed", (int64_t)draft->own.commits.n);
    if (attempt->agent.ended_early)
        node_put_string(&a, data, "note",
                        "the agent ended without a result, but had committed all its work");
    record_committed(attempt->run, attempt->task);
    record_step(attempt->run, EV_TASK_COMMITTED, attempt->task, data);
    arena_done(&a);
}

static void finish_draft(struct attempt *attempt, const struct commit_job *cj,
                         const struct commit_draft *draft)
{
    struct task_run *tr = task_run(attempt);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    bool as_one;
    if (make_commit(attempt, cj, draft, &commit, &as_one, &err)) {
        attempt_error(attempt, &err);
        return;
    }
    bool answered = attempt->agent.session && tr->landed_before; /* an answer needs no change */
    if (!commit.len && (attempt->run->opts.unchanged_ok || task_of(attempt)->hand_on || answered)) {
        task_report(attempt->run, attempt->task, ENGINE_NOTHING_TO_LAND);
        return;
    }
    if (!commit.len) {
        fail_unchanged(attempt);
        return;
    }
    free(tr->commit);
    tr->commit = mem_str(commit.s);
    tr->status.commit = tr->commit;
    task_report(attempt->run, attempt->task, ENGINE_COMMITTED);
    record_commit(attempt, draft, as_one);
    if (!check_size(attempt, draft, commit.s) || !attempt_check_scope(attempt, draft, commit.s))
        return;
    set_start(tr, draft->own.bases.v[0]);
    land_queue(attempt);
}

/* True if an agent that stopped early had committed all its files itself. Otherwise fails the
 * attempt: the work is unfinished. */
static bool check_early_end(struct attempt *attempt, const struct commit_draft *draft)
{
    struct git_place at = run_place(attempt->run);
    const struct strv *own = &draft->own.commits;
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    if (!attempt->agent.ended_early)
        return true;
    if (own->n && git_tree_of(&at, own->v[own->n - 1], &tree, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    if (own->n && strcmp(tree.s, draft->tree.s) == 0)
        return true;
    attempt_fail(attempt, FAILURE_TRANSIENT, "ended without a result");
    return false;
}

static void finish_commit(struct attempt *attempt)
{
    autofree char *index = attempt_file(attempt, "index");
    autofree char *message = final_message(attempt);
    struct commit_job cj = attempt_commit(attempt, index, message);
    autocommitdraft struct commit_draft draft = COMMIT_DRAFT_INIT;
    struct err err = {0};
    cj.tree = attempt->staged.tree.len ? attempt->staged.tree.s : NULL;
    if (commit_draft_make(&cj, attempt->run->base.tip, &draft, &err))
        attempt_error(attempt, &err);
    else if (check_early_end(attempt, &draft) && attempt_check_reverts(attempt, &draft))
        finish_draft(attempt, &cj, &draft);
}

/* The user's commit hooks that we run, in git's order. */
static const char *const hooks[] = {"pre-commit", "commit-msg"};

static int run_hook(struct attempt *attempt, struct err *err);

static void fail_hook(struct attempt *attempt, const char *name, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    attempt_read_tail(attempt, "hook.err", &tail);
    attempt_feedback(attempt, "A commit hook refused your work", exit_code, tail.s);
    attempt_fail(attempt, FAILURE_VERIFY, "%sended with %d: %s", name, exit_code, tail.s);
}

static void start_next_hook(struct attempt *attempt)
{
    struct err err = {0};
    if (++attempt->staged.hook == ARRAY_LEN(hooks))
        finish_commit(attempt);
    else if (run_hook(attempt, &err))
        attempt_error(attempt, &err);
}

static void on_hook(struct attempt *attempt, int exit_code)
{
    autobuf struct buf replaced = BUF_INIT;
    autofree char *name = mem_printf("the %s hook ", hooks[attempt->staged.hook]);
    struct command_end end = {.name = name,
                              .process = process_describe_end(attempt, &replaced),
                              .tampered = attempt->tamper_error};
    struct command_verdict verdict = command_judge(&end);
    switch (verdict.next) {
    case COMMAND_STOPPED:
        attempt_fail_stopped(attempt);
        break;
    case COMMAND_BROKEN:
        attempt_fail_for(attempt, &verdict.why);
        break;
    case COMMAND_TIMED_OUT: /* it has no timeout */
    case COMMAND_CANNOT_START:
    case COMMAND_FAILED:
        fail_hook(attempt, name, exit_code);
        break;
    case COMMAND_SUCCEEDED:
        start_next_hook(attempt);
        break;
    }
}

/* Runs a hook of the user on the staged files and the message. The hook may change both. */
static int run_hook(struct attempt *attempt, struct err *err)
{
    struct workspace *ws = &attempt->ws;
    autofree char *out = attempt_file(attempt, "hook.out"),
                  *errlog = attempt_file(attempt, "hook.err");
    own_cleanup(agent_call_done) struct agent_call call = {.interrupt_signal = SIGTERM};
    strv_pushl(&call.argv, "git", "hook", "run", "--ignore-missing", hooks[attempt->staged.hook],
               "--", NULL);
    if (attempt->staged.hook > 0)
        strv_pushf(&call.argv, "%s/message", attempt->dir);
    git_environment(&call.env);
    const char *common = git_frozen_common(ws->admin, ws->common);
    strv_pushf(&call.env, "GIT_DIR=%s", ws->admin);
    strv_pushf(&call.env, "GIT_COMMON_DIR=%s", common ? common : ws->common);
    strv_pushf(&call.env, "GIT_WORK_TREE=%s", ws->path);
    strv_pushf(&call.env, "GIT_INDEX_FILE=%s/index", attempt->dir);
    call.dir = mem_str(ws->path);
    call.shown = common;
    return process_start_guarded(attempt, &call, NULL, out, errlog, on_hook, err);
}

static int start_hooks(struct attempt *attempt, struct err *err)
{
    autofree char *path = attempt_file(attempt, "message"), *message = attempt_message(attempt);
    attempt->staged.hook = 0;
    return file_replace(path, message, strlen(message), err) || run_hook(attempt, err) ? -1 : 0;
}

/* True if the agent left a merge unresolved; then also fails the attempt and tells the agent why.
 */
static bool fail_unmerged(struct attempt *attempt)
{
    autostrv struct strv paths = {0};
    autobuf struct buf list = BUF_INIT;
    if (attempt->staged.without_git || task_run(attempt)->life->in_conflict)
        return false;
    unmerged_find(&attempt->ws, strlen(attempt->run->base.start), &paths);
    for (size_t i = 0; i < paths.n; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", paths.v[i]);
    if (!paths.n)
        return false;
    autofree char *told = mem_printf("You started a merge or a rebase and left it unresolved: "
                                     "these files have conflict markers: %s\n\nResolve them.",
                                     list.s);
    attempt_tell(attempt, told);
    attempt_fail(attempt, FAILURE_VERIFY, "left its own merge unresolved: %s", list.s);
    return true;
}

static void stage(struct attempt *attempt);

static void on_staged(struct attempt *attempt, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    struct err err = {0};
    watch_free(attempt->tick);
    attempt->tick = NULL;
    if (attempt->staged.too_large) {
        fail_too_large(attempt, attempt->staged.too_large);
    } else if (attempt->stopped == STOP_USER && !attempt->run->engine->stopping &&
               !attempt->run->engine->failed) {
        attempt_fail_stopped(attempt); /* if the whole run stops, finished work still lands */
    } else if (process_lost_race(attempt, exit_code)) {
        stage(attempt);
    } else if (exit_code != 0) {
        attempt_read_tail(attempt, "prepare.log", &tail);
        attempt_fail(attempt, FAILURE_INTERNAL, "git add failed: %s", tail.s);
    } else if (task_run(attempt)->life->in_conflict && unresolved_find(attempt, &tail, &err)) {
        attempt_error(attempt, &err);
    } else if (tail.len) {
        attempt_conflicted(attempt, tail.s);
    } else if (fail_unmerged(attempt)) {
        return;
    } else if (attempt->run->pf->plan.commit_hooks && repo_watch_changed_hook(attempt->run)) {
        attempt_fail(attempt, FAILURE_SCOPE,
                     "'%s' has changed since the run began: we do not run it",
                     repo_watch_changed_hook(attempt->run));
    } else if (!attempt->run->pf->plan.commit_hooks) {
        finish_commit(attempt);
    } else if (start_hooks(attempt, &err)) {
        attempt_error(attempt, &err);
    }
}

/* True if somebody reads the index: hooks, the search for conflict markers, or the git that checks
 * out the tree to verify, which skips files that match the index. */
static bool wants_index(struct attempt *attempt)
{
    const struct plan *plan = &attempt->run->pf->plan;
    return plan->commit_hooks || task_run(attempt)->life->in_conflict ||
           plan_command_is_set(&task_of(attempt)->verify) ||
           plan_command_is_set(&plan->land_verify);
}

static void stage(struct attempt *attempt)
{
    autofree char *index = attempt_file(attempt, "index");
    autofree char *log = attempt_file(attempt, "prepare.log");
    struct commit_job cj = attempt_commit(attempt, index, NULL);
    autostrv struct strv argv = {0}, env = {0};
    struct err err = {0};
    if (access(attempt->ws.path, F_OK) < 0 && errno == ENOENT) {
        attempt_fail(attempt, FAILURE_INTERNAL,
                     "its workspace is gone: somebody removed or moved '%s'", attempt->ws.path);
        return;
    }
    cj.wants_index = wants_index(attempt);
    cj.found = &attempt->staged.scan;
    cj.tracked = overlay_fill_tracked(attempt);
    work_scan_close(&attempt->staged.scan);
    attempt->staged.scan = (struct work_scan){0};
    buf_cut(&attempt->staged.tree, 0);
    if (commit_stage(&cj, &attempt->staged.tree, &argv, &env, &err)) {
        attempt_error(attempt, &err);
        return;
    }
    attempt->staged.without_git = !argv.n;
    attempt->staged.scan_is_valid =
        attempt->staged.without_git &&
        attempt->staged.scan.no_attributes; /* otherwise staging returned no scan */
    attempt->staged.scanned_at = clock_mono();
    if (attempt->staged.without_git)
        on_staged(attempt, 0);
    else if (process_start(attempt, argv.v, env.v, NULL, log, on_staged, &err))
        attempt_error(attempt, &err);
    else
        attempt->tick = loop_timer(attempt->run->loop, SLOW_ADD_MS, on_add_timer, attempt);
}

void do_commit(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    record_task(run, (uint32_t)a->task);
    stage(run->tasks[a->task].attempt);
}
