/*
 * Landing: we merge a task's commit with the tip outside every checkout, verify the result, and
 * make it the new tip.
 */
#include "run/land/land.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/merge/merge.h"
#include "git/tree/tree_diff.h"
#include "run/agent/inputs.h"
#include "run/attempt/attempt.h"
#include "run/attempt/end.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/checkout/checkout_move.h"
#include "run/commit/scope.h"
#include "run/land/clean_tree.h"
#include "run/land/durable.h"
#include "run/land/publish.h"
#include "run/land/queue.h"
#include "run/process/plan_command.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "sys/clock.h"
#include "workspace/commit/own_history.h"
#include "workspace/workspace_hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERIFY_MS = 60 * 60 * 1000 };

static char *make_merge_message(const struct attempt *attempt)
{
    const struct task *t = task_of(attempt);
    autobuf struct buf out = BUF_INIT;
    if (attempt->run->opts.merge_subject)
        attempt_expand(attempt, attempt->run->opts.merge_subject, &out);
    else
        buf_addf(&out, "Merge anabranch task %s%s%s", t->id, t->title ? ": " : "",
                 t->title ? t->title : "");
    buf_addf(&out, "\n\nAnabranch-Task: %s\nAnabranch-Run: %s\n", t->id, attempt->run->id);
    return buf_steal(&out);
}

static int report_conflict(struct attempt *attempt, const struct merge_result *m, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    autobuf struct buf files = BUF_INIT;
    if (merge_describe(&at, m, &files, err))
        return -1;
    attempt_conflicted(attempt, files.s);
    return 1;
}

/* Makes one commit. Its parents are the tip and, unless we squash, the task's commit. */
static int make_merge_candidate(struct attempt *attempt, bool squash, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    const struct task_run *tr = &attempt->run->tasks[attempt->task];
    automerge struct merge_result m = MERGE_RESULT_INIT;
    workspace_set_tree(&attempt->ws, &at);
    /* If we made the tip ourselves, it contains all that its tasks build on. */
    if (attempt->run->resume
            ? merge_trees(&at, attempt->run->base.tip, tr->commit, &m, err)
            : merge_since(&at, tr->start, attempt->run->base.tip, tr->commit, &m, err))
        return -1;
    if (!m.clean)
        return report_conflict(attempt, &m, err);
    autofree char *message = squash ? attempt_message(attempt) : make_merge_message(attempt);
    const char *const parents[] = {attempt->run->base.tip, squash ? NULL : tr->commit, NULL};
    return git_commit_tree(&at, m.tree.s, parents, message, &attempt->landing.commit, err);
}

/* Replays each commit of the task on top of the tip, and leaves out merges. */
static int make_rebase_candidate(struct attempt *attempt, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    const struct task_run *tr = &attempt->run->tasks[attempt->task];
    bool keeps_author = attempt->run->pf->plan.land_author == LAND_AUTHOR_AGENT;
    autobuf struct buf list = BUF_INIT;
    autofree char *range = mem_printf("%s..%s", tr->start, tr->commit);
    workspace_set_tree(&attempt->ws, &at);
    if (git_call(&at, &list, err, "rev-list", "--reverse", "--no-merges", range, NULL))
        return -1;
    buf_addstr(&attempt->landing.commit, attempt->run->base.tip);
    for (char *next = list.s, *id; (id = strsep(&next, "\n")) && *id;) {
        automerge struct merge_result m = MERGE_RESULT_INIT;
        autobuf struct buf message = BUF_INIT, author = BUF_INIT;
        if (merge_pick(&at, attempt->landing.commit.s, id, &m, err))
            return -1;
        if (!m.clean)
            return report_conflict(attempt, &m, err);
        if (git_call(&at, &message, err, "log", "-1", "--format=%B", id, NULL))
            return -1;
        autofree char *onto = mem_str(attempt->landing.commit.s);
        const char *const parents[] = {onto, NULL};
        buf_cut(&attempt->landing.commit, 0);
        if ((keeps_author && own_history_author(&at, id, &author, err)) ||
            git_commit_tree_by(&at, author.len ? author.s : NULL, m.tree.s, parents, message.s,
                               &attempt->landing.commit, err))
            return -1;
    }
    return 0;
}

/* Returns 0 if attempt->landing.commit is ready to land, 1 if it conflicts and the attempt is over,
 * -1 on failure. */
static int make_candidate(struct attempt *attempt, struct err *err)
{
    enum land_style style = attempt->run->pf->plan.land_style;
    buf_cut(&attempt->landing.commit, 0);
    buf_cut(&attempt->landing.base, 0);
    buf_addstr(&attempt->landing.base, attempt->run->base.tip);
    if (style == LAND_STYLE_REBASE)
        return make_rebase_candidate(attempt, err);
    return make_merge_candidate(attempt, style == LAND_STYLE_SQUASH, err);
}

/* Checks the paths of the merged result. If others have renamed a folder, git's merge can move a
 * file of the task to a path that the task may not change. */
static bool check_candidate(struct attempt *attempt)
{
    const struct run *run = attempt->run;
    enum enforce enforce =
        task_of(attempt)->enforce ? task_of(attempt)->enforce : run->pf->plan.enforce;
    autobuf struct buf paths = BUF_INIT;
    struct err err = {0};
    if (!run->pf->claims.list.n || !attempt->agent.started || enforce == ENFORCE_WARN)
        return true; /* a person resolved this: we do not check their paths */
    if (tree_diff(run->batch, run->base.tip, attempt->landing.commit.s, &paths, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    return attempt_check_paths(attempt, &paths);
}

/* Cuts white space from the end and returns the last line. */
static const char *get_last_line(struct buf *output)
{
    while (output->len && strchr(" \n\r\t", output->s[output->len - 1]))
        buf_cut(output, output->len - 1);
    const char *newline = strrchr(output->s, '\n');
    return newline ? newline + 1 : output->s;
}

/* Fails the attempt, and says how the command ended and what it printed last, if anything. */
static void fail_by_command(struct attempt *attempt, enum failure failure, const char *what,
                            int exit_code, struct buf *output)
{
    const char *last = get_last_line(output);
    attempt_fail(attempt, failure, "%s (exit code %d)%s%s", what, exit_code, *last ? ": " : "",
                 last);
}

/* Fails the attempt and gives the command's output to the next one. */
static void fail_verification(struct attempt *attempt, int exit_code)
{
    autobuf struct buf output = BUF_INIT;
    attempt_read_tail(attempt, "verify.out", &output);
    attempt_read_tail(attempt, "verify.err", &output);
    attempt_feedback(attempt, "Your last attempt at this task failed its verification", exit_code,
                     output.s);
    fail_by_command(attempt, FAILURE_VERIFY, "verification failed", exit_code, &output);
}

/* No agent can repair this. We keep the work, and it lands when the user resumes the run. */
static void fail_unstartable_verification(struct attempt *attempt, int exit_code)
{
    autobuf struct buf output = BUF_INIT;
    attempt_read_tail(attempt, "verify.err", &output);
    attempt->landing.broken = true;
    fail_by_command(attempt, FAILURE_SETUP, "verification cannot start", exit_code, &output);
}

static void fail_timed_out_verification(struct attempt *attempt)
{
    attempt_tell(attempt, "The verification of your last attempt at this task timed out.");
    attempt_fail(attempt, FAILURE_VERIFY, "verification timed out");
}

static void on_verified(struct attempt *attempt, int exit_code);

/* The task's own command runs first, then the plan's. */
static const struct plan_command *next_verification(struct attempt *attempt)
{
    const struct plan_command *own = &task_of(attempt)->verify,
                              *all = &attempt->run->pf->plan.land_verify;
    int step = attempt->landing.step++;
    if (step == 0 && plan_command_is_set(own))
        return own;
    if (step <= 1 && plan_command_is_set(all)) {
        attempt->landing.step = 2;
        return all;
    }
    return NULL;
}

static void start_verification(struct attempt *attempt, const struct plan_command *cmd)
{
    struct err err = {0};
    if (plan_command_start(attempt, cmd, "verify", VERIFY_MS, on_verified, &err))
        attempt_error(attempt, &err);
}

static void make_clean_tree(struct attempt *attempt);

static void on_clean_tree(struct attempt *attempt, int exit_code)
{
    autobuf struct buf log = BUF_INIT;
    struct err err = {0};
    if (process_lost_race(attempt, exit_code)) {
        clean_tree_remove(attempt);
        make_clean_tree(attempt);
    } else if (attempt->stopped) {
        attempt_fail_stopped(attempt);
    } else if (exit_code == 0 && clean_tree_finish(attempt, &err)) {
        attempt_error(attempt, &err);
    } else if (exit_code == 0) {
        start_verification(attempt, attempt->landing.verification);
    } else {
        attempt_read_tail(attempt, "prepare.log", &log);
        attempt_fail(attempt, FAILURE_INTERNAL, "cannot make a clean tree: %s", log.s);
    }
}

static void make_clean_tree(struct attempt *attempt)
{
    struct err err = {0};
    if (clean_tree_make(attempt, on_clean_tree, &err))
        attempt_error(attempt, &err);
}

static void verify_next(struct attempt *attempt)
{
    attempt->landing.verification = next_verification(attempt);
    if (!attempt->landing.verification) {
        record(attempt->run, EV_TASK_VERIFIED, attempt->task, NULL);
        land_queue(attempt); /* it lands at once, unless the tip has moved meanwhile */
    } else if (attempt->landing.verification->clean) {
        make_clean_tree(attempt);
    } else {
        start_verification(attempt, attempt->landing.verification);
    }
}

static void on_verified(struct attempt *attempt, int exit_code)
{
    autobuf struct buf replaced = BUF_INIT;
    clean_tree_remove(attempt);
    struct command_end end = {.name = "verification: ",
                              .process = process_describe_end(attempt, &replaced),
                              .overdue = !plan_command_ended(attempt),
                              .tampered = attempt->tamper_error};
    struct command_verdict verdict = command_judge(&end);
    switch (verdict.next) {
    case COMMAND_STOPPED:
        attempt_fail_stopped(attempt);
        break;
    case COMMAND_TIMED_OUT:
        fail_timed_out_verification(attempt);
        break;
    case COMMAND_BROKEN:
        attempt_fail_for(attempt, &verdict.why);
        break;
    case COMMAND_CANNOT_START:
        fail_unstartable_verification(attempt, exit_code);
        break;
    case COMMAND_FAILED:
        fail_verification(attempt, exit_code);
        break;
    case COMMAND_SUCCEEDED:
        verify_next(attempt);
        break;
    }
}

static void check_out_candidate(struct attempt *attempt);

static void on_checked_out(struct attempt *attempt, int exit_code)
{
    autobuf struct buf log = BUF_INIT;
    if (process_lost_race(attempt, exit_code)) {
        check_out_candidate(attempt);
        return;
    }
    if (attempt->stopped) {
        attempt_fail_stopped(attempt);
        return;
    }
    if (exit_code == 0) {
        attempt->landing.step = 0;
        verify_next(attempt);
        return;
    }
    attempt_read_tail(attempt, "prepare.log", &log);
    attempt_fail(attempt, FAILURE_INTERNAL, "cannot check out the merged tree: %s", log.s);
}

/* Checks the merged tree out in the workspace itself, which keeps what was built there. */
static void check_out_candidate(struct attempt *attempt)
{
    autofree char *index = attempt_file(attempt, "index"),
                  *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    struct err err = {0};
    /* This index knows the files that the agent added. It is gone when the task is verified
     * again. */
    if (workspace_enter(&attempt->ws, &err) || workspace_put(&attempt->ws, index, "index", &err)) {
        attempt_fail(attempt, FAILURE_SCOPE, "%s", err.msg);
        return;
    }
    struct git_place at = workspace_place(&attempt->ws);
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "checkout", "--quiet", "--force", "--detach", attempt->landing.commit.s,
               NULL);
    if (process_start(attempt, argv.v, env.v, NULL, log, on_checked_out, &err))
        attempt_error(attempt, &err);
}

static void set_landed(struct task_run *tr, const char *commit)
{
    free(tr->landed);
    tr->landed = commit ? mem_str(commit) : NULL;
    tr->status.landed = tr->landed;
}

/* Records the intent first. If we die, the next engine finds the intent without its outcome and
 * checks whether the tip has the commit. The ref of the tip moves when the turn ends. */
static void land_candidate(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct err err = {0};
    set_landed(task_run(attempt), attempt->landing.commit.s);
    if (record_intent(run, attempt->task, &err)) {
        set_landed(task_run(attempt), NULL);
        attempt_error(attempt, &err);
        return;
    }
    free(run->base.tip);
    run->base.tip = mem_str(attempt->landing.commit.s);
    task_report(run, attempt->task, ENGINE_LANDED);
}

/* Syncs the objects before the ref moves: git syncs refs but not objects, so a power failure
 * could leave a broken ref. */
static int move_tip(struct run *run, const char *from, struct err *err)
{
    autofree char *old_tip = mem_str(from);
    char *to = run->base.tip;
    if (durable_sync(run, err))
        return -1;
    run->base.tip = old_tip; /* the ref is still at this commit */
    int rc = run_move_tip(run, to, "anabranch: land", err);
    run->base.tip = to;
    return rc;
}

/* Moves the tip to all that landed in this turn, or takes all of it back. */
static void move_tip_or_undo(struct run *run, const char *from, size_t first)
{
    struct err err = {0};
    if (strcmp(run->base.tip, from) == 0)
        return;
    if (move_tip(run, from, &err) == 0) {
        for (size_t i = first; i < run->engine->landing.unpublished.n; i++)
            attempt_leave(run->tasks[run->engine->landing.unpublished.v[i]].attempt);
        return;
    }
    free(run->base.tip);
    run->base.tip = mem_str(from);
    const struct engine_event failed = {.kind = ENGINE_LANDING_FAILED, .task = -1};
    struct action a;
    while (run->engine->landing.unpublished.n > first && run_ask(run, &failed, &a)) {
        struct attempt *attempt = run->tasks[a.task].attempt;
        set_landed(task_run(attempt), NULL);
        attempt_error(attempt, &err);
    }
}

static bool needs_verification(const struct attempt *attempt)
{
    return plan_command_is_set(&task_of(attempt)->verify) ||
           plan_command_is_set(&attempt->run->pf->plan.land_verify);
}

/* Merges the task's commit with the tip, and verifies the result. Without a verification it
 * lands. */
static void merge_with_tip(struct attempt *attempt)
{
    struct err err = {0};
    int rc = make_candidate(attempt, &err);
    if (rc < 0)
        attempt_error(attempt, &err);
    if (rc || !check_candidate(attempt))
        return;
    task_report(attempt->run, attempt->task, ENGINE_MERGED);
    if (!needs_verification(attempt)) {
        land_candidate(attempt);
        return;
    }
    task_report_and_record(attempt->run, attempt->task, ENGINE_VERIFYING);
    check_out_candidate(attempt);
}

static int64_t find_index_size(const struct run *run)
{
    autofree char *index = mem_printf("%s/index", run->pf->repo.git_dir);
    struct stat st;
    bool here = stat(index, &st) == 0 && checkout_move_is_here(&run->pf->repo, run->base.ref);
    return here ? st.st_size : 0;
}

static void record_published(struct run *run)
{
    const struct landing *l = &run->engine->landing;
    autobuf struct buf lines = BUF_INIT;
    for (size_t i = 0; i < l->publishing.n; i++) {
        uint32_t task = l->publishing.v[i];
        buf_addf(&lines, "%s %s\n", run->tasks[task].landed, run->pf->plan.tasks[task].id);
    }
    record_landed(run, &lines);
}

static void on_published(struct run *run)
{
    const struct landing *l = &run->engine->landing;
    const struct engine_event ev = {.kind = ENGINE_PUBLISHED, .task = -1, .now = clock_mono()};
    record_published(run);
    record_together(run);
    for (size_t i = 0; i < l->publishing.n; i++)
        land_tell(run, l->publishing.v[i], run->publisher.publication.base_moved);
    record_end_of_group(run);
    for (size_t i = 0; i < l->publishing.n; i++)
        attempt_landed(run->tasks[l->publishing.v[i]].attempt);
    (void)run_report(run, &ev);
    attempt_drop_branches(run);
    land_publish(run);
    run_wake(run);
}

static void on_pause_end(void *ctx)
{
    struct run *run = ctx;
    watch_free(run->publisher.pause);
    run->publisher.pause = NULL;
    land_publish(run);
}

void do_publish_later(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    if (!run->publisher.pause)
        run->publisher.pause = loop_timer(run->loop, a->ms, on_pause_end, run);
}

/* Publishes the tip once for all attempts that landed meanwhile. Only then do we record them as
 * landed. */
void do_publish(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    if (a->yes) {
        publish(run, on_published);
    } else {
        run->publisher.publication.base_moved = false;
        on_published(run);
    }
}

void land_publish(struct run *run)
{
    if (!engine_can_publish(run->engine))
        return;
    bool estimates = landing_needs_estimate(&run->engine->landing);
    const struct engine_event ev = {.kind = ENGINE_PUBLISH_DUE,
                                    .task = -1,
                                    .now = clock_mono(),
                                    .index_bytes = estimates ? find_index_size(run) : 0};
    (void)run_report(run, &ev);
}

/* Landing is over: fails the waiting attempts, which saves their work. */
static void fail_waiting(struct run *run)
{
    const struct engine_event ask = {.kind = ENGINE_ABANDONS_NEXT, .task = -1};
    struct action a;
    while (run_ask(run, &ask, &a))
        attempt_fail_stopped(run->tasks[a.task].attempt);
}

void land_turn(struct run *run)
{
    const struct engine_event ask = {.kind = ENGINE_LANDS_NEXT, .task = -1};
    struct err err = {0};
    struct action a;
    if (!run->engine->landing.waiting)
        return;
    if (!run->engine->failed && !run->engine->publishing && publish_follow(run, &err))
        run_fail(run, &err);
    if (run->engine->failed) {
        fail_waiting(run);
        return;
    }
    size_t first = run->engine->landing.unpublished.n;
    autofree char *tip = mem_str(run->base.tip);
    while (run_ask(run, &ask, &a))
        (a.yes ? land_candidate : merge_with_tip)(run->tasks[a.task].attempt);
    move_tip_or_undo(run, tip, first);
}
