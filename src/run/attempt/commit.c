/*
 * Makes a commit that may land from the files in an agent's workspace.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/config/frozen_config.h"
#include "run/attempt/inputs.h"
#include "run/attempt/own_work.h"
#include "run/attempt/plan_command.h"
#include "run/prepare/overlay_fill.h"
#include "run/rework/repair.h"
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

struct commit_job attempt_commit(const struct attempt *attempt, const char *index,
                                 const char *message)
{
    return (struct commit_job){
        .ws = &attempt->ws,
        .start = attempt->run->tasks[attempt->task].start,
        .index = index,
        .excludes = attempt->excludes,
        .brought = attempt->included_list,
        .root = attempt->run->pf->repo.root,
        .message = message,
        .core = &attempt->run->pf->repo.core,
    };
}

static void record_scope_violation(struct attempt *attempt, const struct buf *paths, size_t n)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    struct node *list = node_put_list(&a, data, "paths");
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        node_add_string(&a, list, p);
    node_put_int(&a, data, "count", (int64_t)n);
    record(attempt->run, EV_SCOPE_VIOLATED, attempt->task, data);
    arena_done(&a);
}

static void add_stray_feedback(struct attempt *attempt, const struct buf *paths)
{
    enum { SHOWN = 200 };
    autobuf struct buf text = BUF_INIT;
    size_t n = 0;
    buf_addstr(&text, "Your last attempt at this changed paths that this task may not change:\n");
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1, n++) {
        if (n < SHOWN)
            buf_addf(&text, "\n    %s", p);
    }
    if (n > SHOWN)
        buf_addf(&text, "\n    ... and %zu more", n - SHOWN);
    buf_addf(
        &text,
        "\n\nRestore them as they are in the commit %s, and remove those that it does not have. "
        "Do the task without them.",
        task_run(attempt)->start);
    attempt_tell(attempt, text.s);
}

bool attempt_check_paths(struct attempt *attempt, const struct buf *paths)
{
    struct run *run = attempt->run;
    autobuf struct buf strays = BUF_INIT, shown = BUF_INIT;
    size_t n = 0;
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1) {
        if (claims_allow(&run->pf->claims, attempt->task, p))
            continue;
        buf_add(&strays, p, strlen(p) + 1);
        if (n++ < 10)
            buf_addf(&shown, "%s%s", n > 1 ? ", " : "", p);
    }
    if (!n)
        return true;
    record_scope_violation(attempt, &strays, n);
    enum enforce enforce =
        task_of(attempt)->enforce ? task_of(attempt)->enforce : run->pf->plan.enforce;
    if (enforce == ENFORCE_WARN)
        return true;
    add_stray_feedback(attempt, &strays);
    attempt_fail(attempt, FAILURE_SCOPE, "changed %zu path%s that it does not own: %s%s", n,
                 n == 1 ? "" : "s", shown.s, n > 10 ? ", ..." : "");
    return false;
}

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
    at.excludes = attempt->excludes;
    if (change_measure(&at, &bounds, &size, &err))
        buf_addf(&text, "more than we could measure: %s", err.msg);
    else if (size.over)
        change_say(&bounds, size.files, size.bytes, &text);
    if (!text.len)
        return;
    attempt->too_large = buf_steal(&text);
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
    if (attempt->staged_without_git && small)
        return true;
    attempt->is_whole = true;
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

/* True if the task changed only its own paths, or if the plan only warns. Otherwise fails the
 * attempt. */
static bool check_scope(struct attempt *attempt, const struct commit_draft *draft,
                        const char *commit)
{
    autobuf struct buf paths = BUF_INIT;
    struct err err = {0};
    if (!attempt->run->pf->claims.list.n)
        return true;
    if (own_work_paths(attempt, draft, commit, &paths, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    return attempt_check_paths(attempt, &paths);
}

static void add_revert_feedback(struct attempt *attempt, const struct strv *paths,
                                const char *landed)
{
    enum { SHOWN = 200 };
    autobuf struct buf text = BUF_INIT;
    buf_addstr(&text, "Your last attempt at this would have undone what others have landed. At "
                      "these paths their changes are missing:\n");
    for (size_t i = 0; i < paths->n && i < SHOWN; i++)
        buf_addf(&text, "\n    %s", paths->v[i]);
    if (paths->n > SHOWN)
        buf_addf(&text, "\n    ... and %zu more", paths->n - SHOWN);
    buf_addf(&text,
             "\n\nThese changes are in the commit %s. Restore them, and keep yours as well. "
             "Do not merge with -s ours or -X ours, and do not check out older versions.",
             landed);
    attempt_tell(attempt, text.s);
}

/* True if the landing would keep others' work. Otherwise fails the attempt. No option allows this:
 * a task that has to undo others' work must depend on them, and starts with it. */
static bool check_reverts(struct attempt *attempt, const struct commit_draft *draft)
{
    autostrv struct strv paths = {0};
    autobuf struct buf list = BUF_INIT, shown = BUF_INIT;
    struct err err = {0};
    if (own_work_reverts(attempt, draft, &paths, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    task_report_if(attempt->run, attempt->task, ENGINE_COMPARED, paths.n > 0);
    if (!paths.n)
        return true;
    for (size_t i = 0; i < paths.n; i++) {
        buf_add(&list, paths.v[i], strlen(paths.v[i]) + 1);
        if (i < 10)
            buf_addf(&shown, "%s%s", i ? ", " : "", paths.v[i]);
    }
    record_scope_violation(attempt, &list, paths.n);
    add_revert_feedback(attempt, &paths, draft->own.bases.v[0]);
    attempt_fail(attempt, FAILURE_SCOPE, "would undo what others have landed: %s%s", shown.s,
                 paths.n > 10 ? ", ..." : "");
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
    const struct agent_report *r = &attempt->report;
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
    buf_cut(&attempt->branch_before, 0);
    if (own_work_is_dirty(attempt, draft, &style.as_one, err) ||
        git_resolve(&at, attempt->ws.branch, &attempt->branch_before, err) ||
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
    if (attempt->ended_early)
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
    bool answered = attempt->session && tr->landed_before; /* an answer needs no change */
    if (!commit.len && (attempt->run->opts.unchanged_ok || task_of(attempt)->hand_on || answered)) {
        attempt_unlanded(attempt);
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
    if (!check_size(attempt, draft, commit.s) || !check_scope(attempt, draft, commit.s))
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
    if (!attempt->ended_early)
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
    cj.tree = attempt->tree.len ? attempt->tree.s : NULL;
    if (commit_draft_make(&cj, attempt->run->tip, &draft, &err))
        attempt_error(attempt, &err);
    else if (check_early_end(attempt, &draft) && check_reverts(attempt, &draft))
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
    if (++attempt->hook == ARRAY_LEN(hooks))
        finish_commit(attempt);
    else if (run_hook(attempt, &err))
        attempt_error(attempt, &err);
}

static void on_hook(struct attempt *attempt, int exit_code)
{
    autobuf struct buf replaced = BUF_INIT;
    autofree char *name = mem_printf("the %s hook ", hooks[attempt->hook]);
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
    strv_pushl(&call.argv, "git", "hook", "run", "--ignore-missing", hooks[attempt->hook], "--",
               NULL);
    if (attempt->hook > 0)
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
    attempt->hook = 0;
    return file_replace(path, message, strlen(message), err) || run_hook(attempt, err) ? -1 : 0;
}

/* True if the agent left a merge unresolved; then also fails the attempt and tells the agent why.
 */
static bool fail_unmerged(struct attempt *attempt)
{
    autostrv struct strv paths = {0};
    autobuf struct buf list = BUF_INIT;
    if (attempt->staged_without_git || task_run(attempt)->life->in_conflict)
        return false;
    unmerged_find(&attempt->ws, strlen(attempt->run->base_commit), &paths);
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

static void on_staged(struct attempt *attempt, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    struct err err = {0};
    watch_free(attempt->tick);
    attempt->tick = NULL;
    if (attempt->too_large) {
        fail_too_large(attempt, attempt->too_large);
    } else if (attempt->stopped == STOP_USER && !attempt->run->engine->stopping &&
               !attempt->run->engine->failed) {
        attempt_fail_stopped(attempt); /* if the whole run stops, finished work still lands */
    } else if (process_lost_race(attempt, exit_code)) {
        attempt_stage(attempt);
    } else if (exit_code != 0) {
        attempt_read_tail(attempt, "prepare.log", &tail);
        attempt_fail(attempt, FAILURE_INTERNAL, "git add failed: %s", tail.s);
    } else if (task_run(attempt)->life->in_conflict && repair_unresolved(attempt, &tail, &err)) {
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

void attempt_stage(struct attempt *attempt)
{
    autofree char *index = attempt_file(attempt, "index");
    autofree char *log = attempt_file(attempt, "prepare.log");
    struct commit_job cj = attempt_commit(attempt, index, NULL);
    autostrv struct strv argv = {0}, env = {0};
    struct err err = {0};
    task_report_and_record(attempt->run, attempt->task, ENGINE_FINISHED);
    if (access(attempt->ws.path, F_OK) < 0 && errno == ENOENT) {
        attempt_fail(attempt, FAILURE_INTERNAL,
                     "its workspace is gone: somebody removed or moved '%s'", attempt->ws.path);
        return;
    }
    cj.wants_index = wants_index(attempt);
    cj.found = &attempt->scan;
    cj.tracked = overlay_fill_tracked(attempt);
    work_scan_close(&attempt->scan);
    attempt->scan = (struct work_scan){0};
    buf_cut(&attempt->tree, 0);
    if (commit_stage(&cj, &attempt->tree, &argv, &env, &err)) {
        attempt_error(attempt, &err);
        return;
    }
    attempt->staged_without_git = !argv.n;
    attempt->scan_is_valid = attempt->staged_without_git &&
                             attempt->scan.no_attributes; /* otherwise staging returned no scan */
    attempt->scanned_at = clock_mono();
    if (attempt->staged_without_git)
        on_staged(attempt, 0);
    else if (process_start(attempt, argv.v, env.v, NULL, log, on_staged, &err))
        attempt_error(attempt, &err);
    else
        attempt->tick = loop_timer(attempt->run->loop, SLOW_ADD_MS, on_add_timer, attempt);
}
