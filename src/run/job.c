/*
 * One attempt at a task, from its workspace to its commit. Each step starts a process and names the
 * step that follows when that has ended; the loop does the rest.
 */
#include "run/run_private.h"

#include "base/build.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/commit.h"
#include "run/job_env.h"
#include "run/logs.h"
#include "run/prepare.h"
#include "run/sweep.h"
#include "sys/dirs.h"
#include "sys/file.h"
#include "sys/guard.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TICK_MS = 200, TAIL_MAX = 4096 };

static struct task_run *task_run(struct job *job)
{
    return &job->run->tasks[job->task];
}

static const struct task *task_of(const struct job *job)
{
    return &job->run->pf->plan.tasks[job->task];
}

static char *job_file(const struct job *job, const char *name)
{
    return mem_printf("%s/%s", job->dir, name);
}

void job_free(struct job *job)
{
    task_run(job)->job = NULL;
    job->run->jobs--;
    process_done(&job->process);
    watch_free(job->tick);
    agent_tail_close(&job->tail);
    agent_report_done(&job->report);
    if (job->has_workspace) /* it stays */
        workspace_release(&job->ws);
    workspace_done(&job->ws);
    buf_done(&job->candidate);
    buf_done(&job->candidate_base);
    free(job->dir);
    free(job->cwd);
    free(job->excludes);
    free(job->brought);
    ports_give_back(&job->run->ports, job->port);
    struct run *run = job->run;
    free(job);
    run_wake(run);
}

void job_read_tail(const struct job *job, const char *name, struct buf *out)
{
    autofree char *path = job_file(job, name);
    autobuf struct buf all = BUF_INIT;
    if (file_read(path, 64 << 20, &all, NULL))
        return;
    size_t skip = all.len > TAIL_MAX ? all.len - TAIL_MAX : 0;
    buf_add(out, all.s + skip, all.len - skip);
}

void job_feedback(struct job *job, const char *what, int exit_code, const char *output)
{
    struct task_run *tr = task_run(job);
    free(tr->feedback);
    tr->feedback = mem_printf("%s: exit code %d. This is the end of what it printed:\n\n%s", what,
                              exit_code, output);
}

/* --- ends --------------------------------------------------------------------------------- */

static struct commit_job commit_job(const struct job *job, const char *index, const char *message)
{
    return (struct commit_job){
        .ws = &job->ws,
        .start = job->run->tasks[job->task].start,
        .index = index,
        .excludes = job->excludes,
        .brought = job->brought,
        .root = job->run->pf->repo.root,
        .message = message,
    };
}

/* Saves what the attempt made under a ref; false where that failed, and the workspace must stay. */
static bool salvage(struct job *job)
{
    if (!job->agent_started) /* nobody has worked in it */
        return true;
    autofree char *index = job_file(job, "salvage.index");
    autofree char *ref =
        mem_printf("refs/anabranch/salvage/%s/%s/%d", job->run->id, task_of(job)->id, job->attempt);
    autofree char *message =
        mem_printf("Salvaged from task %s, attempt %d", task_of(job)->id, job->attempt);
    struct commit_job cj = commit_job(job, index, message);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    struct arena a = {0};
    bool saved = commit_salvage(&cj, ref, &commit, &err) == 0;
    if (!saved || commit.len) {
        struct node *data = build_map(&a);
        build_put_string(&a, data, "ref", saved ? ref : NULL);
        build_put_string(&a, data, "commit", saved ? commit.s : NULL);
        build_put_string(&a, data, "error", saved ? NULL : err.msg);
        build_put_string(&a, data, "workspace", saved ? NULL : job->ws.path);
        record(job->run, EV_TASK_SALVAGED, job->task, data);
        arena_done(&a);
    }
    return saved;
}

static int take_away(struct job *job, struct err *err)
{
    autostrv struct strv left = {0};
    if (!sweep_is_worth_it(job))
        return workspace_remove(&job->ws, err);
    return workspace_retire(&job->ws, &left, err) || sweep(job->run, job->task, &left, err) ? -1
                                                                                            : 0;
}

/* Takes the workspace away, and its branch where all that is on it is elsewhere. */
static void remove_workspace(struct job *job, bool branch_too)
{
    struct git_place at = run_place(job->run);
    autobuf struct buf where = BUF_INIT;
    struct err err = {0};
    bool moved;
    if (!job->has_workspace)
        return;
    job->has_workspace = false;
    if (take_away(job, &err))
        record_error(job->run, job->task, &err);
    else
        record(job->run, EV_WORKSPACE_REMOVED, job->task, NULL);
    task_run(job)->status.workspace = NULL;
    if (branch_too && git_resolve(&at, job->ws.branch, &where, &err) == 0 &&
        git_move_ref(&at, job->ws.branch, where.s, "", "anabranch: done", &moved, &err))
        record_error(job->run, job->task, &err);
    if (branch_too)
        task_run(job)->status.branch = NULL;
}

static void set_reason(struct job *job, enum failure failure, const char *reason)
{
    struct task_run *tr = task_run(job);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    secrets_mask(&job->run->secrets, reason, strlen(reason), &masked);
    text_harmless(&safe, masked.s, masked.len);
    free(tr->reason);
    tr->reason = buf_steal(&safe);
    tr->status.reason = tr->reason;
    tr->status.failure = failure;
    tr->status.exit_code = job->exit_code;
}

static struct node *failure_data(struct arena *a, struct job *job)
{
    const struct task_run *tr = task_run(job);
    struct node *data = build_map(a);
    autobuf struct buf output = BUF_INIT;
    logs_explain(job, tr->status.failure, &output);
    build_put_string(a, data, "class", failure_names[tr->status.failure]);
    build_put_string(a, data, "reason", tr->reason);
    build_put_string(a, data, "output", output.len ? output.s : NULL);
    build_put_string(a, data, "log", job->dir);
    return data;
}

static void finish_failure(struct job *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    enum failure failure = task_run(job)->status.failure;
    int64_t delay = run->stopping || run->failed ? -1 : job->retry_delay;
    struct arena a = {0};
    struct node *data = failure_data(&a, job);
    if (job->removes)
        remove_workspace(job, true);
    if (delay >= 0) {
        bool parked = failure == FAILURE_LIMIT && job->report.reset > 0;
        build_put_int(&a, data, "delay_ms", delay);
        record(run, parked ? EV_TASK_PARKED : EV_TASK_RETRIED, task, data);
        job_free(job);
        task_retry_later(run, task, delay);
    } else {
        task_set_state(run, task, TASK_FAILED);
        record(run, EV_TASK_FAILED, task, data);
        job_free(job);
        task_end(run, task, TASK_FAILED);
        if (run->pf->plan.tasks[task].retry.times[failure] == RETRY_STOP)
            run_drain(run);
    }
    arena_done(&a);
}

void job_fail(struct job *job, enum failure failure, const char *fmt, ...)
{
    autobuf struct buf reason = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&reason, fmt, ap);
    va_end(ap);
    set_reason(job, failure, reason.s);

    struct run *run = job->run;
    bool untouched = !job->has_workspace || !job->prepared; /* what is in it is only ours */
    bool saved = untouched || failure == FAILURE_NO_CHANGE || salvage(job);
    job->retry_delay =
        run->stopping || run->failed ? -1 : retry_delay(run, job->task, failure, job->report.reset);
    job->removes = saved && !(run->opts.keep && job->retry_delay < 0); /* a retry wants its place */
    if (job->removes)
        prepare_teardown(job, finish_failure);
    else
        finish_failure(job);
}

void job_error(struct job *job, const struct err *err)
{
    job_fail(job, FAILURE_INTERNAL, "%s", err->msg);
}

static void finish_removal(struct job *job)
{
    remove_workspace(job, true);
    record_task(job->run, job->task);
    job_free(job);
}

/* The task has ended well; its dependants need not wait until its workspace is taken down. */
static void finish(struct job *job, enum task_state state, bool removes)
{
    bool later = removes && prepare_has_teardown(job);
    if (removes && !later)
        remove_workspace(job, true);
    task_end(job->run, job->task, state);
    if (later)
        prepare_teardown(job, finish_removal);
    else
        job_free(job);
}

/* Makes the workspace one that a person can go on in: on its branch, with an index to match. */
static void settle_workspace(struct job *job)
{
    struct git_place at = workspace_place(&job->ws);
    autofree char *index = job_file(job, "index"), *own = mem_printf("%s/index", job->ws.admin);
    struct err err = {0};
    (void)rename(index, own); /* gone already where it was verified */
    if (git_call(&at, NULL, &err, "checkout", "--quiet", "--force",
                 job->ws.branch + strlen("refs/heads/"), NULL))
        record_error(job->run, job->task, &err);
    workspace_release(&job->ws);
}

void job_landed(struct job *job)
{
    if (job->run->opts.keep)
        settle_workspace(job);
    finish(job, TASK_LANDED, !job->run->opts.keep);
}

/* The branch and the workspace stay, for the person who resolves it. */
void job_conflicted(struct job *job, const char *files)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    struct arena a = {0};
    autofree char *reason = mem_printf("conflicts with what has landed: %s", files);
    set_reason(job, FAILURE_CONFLICT, reason);
    settle_workspace(job);
    struct node *data = build_map(&a);
    build_put_string(&a, data, "files", files);
    build_put_string(&a, data, "branch", task_run(job)->status.branch);
    build_put_string(&a, data, "workspace", job->ws.path);
    task_set_state(run, task, TASK_CONFLICTED);
    record(run, EV_TASK_CONFLICTED, task, data);
    arena_done(&a);
    task_end(run, task, TASK_CONFLICTED);
    job_free(job);
}

/* There is nothing to land. */
static void finish_unlanded(struct job *job)
{
    bool saved = !job->has_workspace || salvage(job);
    bool kept = job->run->opts.keep && !task_of(job)->read_only;
    task_set_state(job->run, job->task, TASK_DONE);
    record(job->run, EV_TASK_DONE, job->task, NULL);
    finish(job, TASK_DONE, saved && !kept);
}

/* --- committing --------------------------------------------------------------------------- */

static void scope_violated(struct job *job, const struct buf *paths, size_t n)
{
    struct arena a = {0};
    struct node *data = build_map(&a);
    struct node *list = build_put_list(&a, data, "paths");
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        build_add_string(&a, list, p);
    build_put_int(&a, data, "count", (int64_t)n);
    record(job->run, EV_SCOPE_VIOLATED, job->task, data);
    arena_done(&a);
}

/* Whether the task kept to its paths; else the task has failed, or only a warning was given. */
static bool check_scope(struct job *job, const char *commit)
{
    struct run *run = job->run;
    struct git_place at = run_place(run);
    autobuf struct buf paths = BUF_INIT, strays = BUF_INIT, shown = BUF_INIT;
    struct err err = {0};
    size_t n = 0;
    if (!run->pf->claims.list.n)
        return true;
    if (commit_paths(&at, task_run(job)->start, commit, &paths, &err)) {
        job_error(job, &err);
        return false;
    }
    for (const char *p = paths.s; p < paths.s + paths.len; p += strlen(p) + 1) {
        if (claims_allow(&run->pf->claims, job->task, p))
            continue;
        buf_add(&strays, p, strlen(p) + 1);
        if (n++ < 10)
            buf_addf(&shown, "%s%s", n > 1 ? ", " : "", p);
    }
    if (!n)
        return true;
    scope_violated(job, &strays, n);
    enum enforce enforce = task_of(job)->enforce ? task_of(job)->enforce : run->pf->plan.enforce;
    if (enforce == ENFORCE_WARN)
        return true;
    job_fail(job, FAILURE_SCOPE, "changed %zu path%s that it does not own: %s%s", n,
             n == 1 ? "" : "s", shown.s, n > 10 ? ", ..." : "");
    return false;
}

static void finish_commit(struct job *job)
{
    struct task_run *tr = task_run(job);
    autofree char *index = job_file(job, "index");
    autofree char *message = job_message(job);
    struct commit_job cj = commit_job(job, index, message);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (commit_finish(&cj, &commit, &err)) {
        job_error(job, &err);
        return;
    }
    if (!commit.len && job->run->opts.unchanged_ok) {
        finish_unlanded(job);
        return;
    }
    if (!commit.len) {
        job_fail(job, FAILURE_NO_CHANGE, "the agent changed nothing");
        return;
    }
    free(tr->commit);
    tr->commit = mem_str(commit.s);
    tr->status.commit = tr->commit;
    struct arena a = {0};
    struct node *data = build_map(&a);
    build_put_string(&a, data, "commit", commit.s);
    record(job->run, EV_TASK_COMMITTED, job->task, data);
    arena_done(&a);
    if (check_scope(job, commit.s))
        land_queue(job);
}

static void on_hook(struct job *job, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    if (job->stopped) {
        job_fail(job, FAILURE_INTERNAL, "stopped");
    } else if (exit_code == 0) {
        finish_commit(job);
    } else {
        job_read_tail(job, "hook.err", &tail);
        job_feedback(job, "The pre-commit hook refused your work", exit_code, tail.s);
        job_fail(job, FAILURE_VERIFY, "the pre-commit hook ended with %d: %s", exit_code, tail.s);
    }
}

/* The user's own hook, on what is staged; it may stage more. */
static int run_hook(struct job *job, struct err *err)
{
    struct workspace *ws = &job->ws;
    autofree char *out = job_file(job, "hook.out"), *errlog = job_file(job, "hook.err");
    own_cleanup(agent_call_done) struct agent_call call = {.stop_signal = SIGTERM};
    strv_pushl(&call.argv, "git", "hook", "run", "--ignore-missing", "pre-commit", NULL);
    git_environment(&call.env);
    strv_pushf(&call.env, "GIT_DIR=%s", ws->admin);
    strv_pushf(&call.env, "GIT_COMMON_DIR=%s", ws->common);
    strv_pushf(&call.env, "GIT_WORK_TREE=%s", ws->path);
    strv_pushf(&call.env, "GIT_INDEX_FILE=%s/index", job->dir);
    call.dir = mem_str(ws->path);
    return process_start_guarded(job, &call, NULL, out, errlog, on_hook, err);
}

static void on_staged(struct job *job, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    struct err err = {0};
    if (exit_code != 0) {
        job_read_tail(job, "prepare.log", &tail);
        job_fail(job, FAILURE_INTERNAL, "git add failed: %s", tail.s);
    } else if (!job->run->pf->plan.commit_hooks) {
        finish_commit(job);
    } else if (run_hook(job, &err)) {
        job_error(job, &err);
    }
}

static void stage(struct job *job)
{
    autofree char *index = job_file(job, "index");
    autofree char *log = job_file(job, "prepare.log");
    struct commit_job cj = commit_job(job, index, NULL);
    autostrv struct strv argv = {0}, env = {0};
    struct err err = {0};
    task_set_state(job->run, job->task, TASK_COMMITTING);
    if (commit_stage(&cj, &argv, &env, &err) ||
        process_start(job, argv.v, env.v, job->ws.path, log, on_staged, &err))
        job_error(job, &err);
}

/* --- the agent ---------------------------------------------------------------------------- */

void job_stop(struct job *job, enum stop_reason why, char order)
{
    if (job->tearing_down && order == GUARD_STOP)
        return; /* it has been asked to end already, and this is how it does */
    if (!job->stopped)
        job->stopped = why;
    process_order(&job->process, order);
}

/* Reports count within an attempt, the task over all of them. False: nothing new. */
static bool add_usage(struct job *job)
{
    const struct agent_report *r = &job->report;
    struct task_status *s = &task_run(job)->status;
    double usd = r->usd < 0 ? 0 : r->usd;
    if (job->told_in == r->tokens_in && job->told_out == r->tokens_out && job->told_usd >= usd)
        return false;
    s->tokens_in += r->tokens_in - job->told_in;
    s->tokens_out += r->tokens_out - job->told_out;
    if (r->usd >= 0)
        s->usd = (s->usd < 0 ? 0 : s->usd) + usd - job->told_usd;
    job->told_in = r->tokens_in;
    job->told_out = r->tokens_out;
    job->told_usd = usd;
    return true;
}

static void tell_progress(struct job *job)
{
    struct agent_report *r = &job->report;
    struct task_run *tr = task_run(job);
    if (!r->changed)
        return;
    r->changed = false;
    struct arena a = {0};
    struct node *data = build_map(&a);
    if (add_usage(job)) {
        build_put_int(&a, data, "tokens_in", r->tokens_in);
        build_put_int(&a, data, "tokens_out", r->tokens_out);
        if (r->usd >= 0)
            build_put_real(&a, data, "usd", r->usd);
        record(job->run, EV_TASK_USAGE, job->task, data);
    }
    if (r->action.len && (!tr->status.action || strcmp(tr->status.action, r->action.s) != 0)) {
        data = build_map(&a);
        autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
        secrets_mask(&job->run->secrets, r->action.s, r->action.len, &masked);
        text_harmless(&safe, masked.s, masked.len);
        free(tr->action);
        tr->action = buf_steal(&safe);
        tr->status.action = tr->action;
        build_put_string(&a, data, "action", tr->action);
        record(job->run, EV_TASK_ACTION, job->task, data);
    }
    arena_done(&a);
}

/* Output, also on standard error, is a sign of life. */
static void note_output(struct job *job)
{
    autofree char *out = job_file(job, "out"), *err = job_file(job, "err");
    struct stat a = {0}, b = {0};
    (void)stat(out, &a);
    (void)stat(err, &b);
    if (a.st_size + b.st_size != job->output_size) {
        job->output_size = a.st_size + b.st_size;
        job->last_output = clock_mono();
    }
}

static void on_tick(void *ctx)
{
    struct job *job = ctx;
    const struct task *t = task_of(job);
    int64_t now = clock_mono();
    int64_t timeout = t->timeout > 0 ? t->timeout : job->run->opts.timeout;
    agent_tail_read(&job->tail, run_engine(job->run, job->task), &job->report);
    note_output(job);
    tell_progress(job);
    if (timeout > 0 && now - job->agent_started >= timeout)
        job_stop(job, STOP_TIMEOUT, GUARD_STOP);
    else if (t->idle_timeout > 0 && now - job->last_output >= t->idle_timeout)
        job_stop(job, STOP_IDLE, GUARD_STOP);
    if (!job->stopped)
        watch_again(job->tick, TICK_MS);
}

static void tell_exit(struct job *job)
{
    struct arena a = {0};
    struct node *data = build_map(&a);
    if (job->exit_signal)
        build_put_int(&a, data, "signal", job->exit_signal);
    else
        build_put_int(&a, data, "exit_code", job->exit_code);
    build_put_int(&a, data, "ms", clock_mono() - job->agent_started);
    record(job->run, EV_TASK_EXITED, job->task, data);
    arena_done(&a);
}

static bool is_judged_failed(struct job *job, struct buf *reason)
{
    const struct run_options *opts = &job->run->opts;
    return opts->judge && opts->judge(opts->judge_ctx, job->task, job->dir, reason);
}

static void on_agent_end(struct job *job, int exit_code)
{
    autobuf struct buf err_text = BUF_INIT, reason = BUF_INIT;
    enum engine engine = run_engine(job->run, job->task);
    enum failure failure = FAILURE_TRANSIENT;
    agent_tail_end(&job->tail, engine, &job->report);
    watch_free(job->tick);
    job->tick = NULL;
    tell_progress(job);
    tell_exit(job);
    logs_copy(job);
    task_run(job)->status.exit_code = exit_code;
    sched_set_aside(&job->run->sched, job->task);
    run_wake(job->run);
    job_read_tail(job, "err", &err_text);
    if (job->run->opts.silent_ok && exit_code == 0 && !job->report.finished)
        job->report.finished = job->report.ok = true;
    if (job->stopped == STOP_USER)
        job_fail(job, FAILURE_INTERNAL, "stopped");
    else if (job->stopped == STOP_TIMEOUT)
        job_fail(job, FAILURE_TIMEOUT, "took longer than its timeout");
    else if (job->stopped == STOP_IDLE)
        job_fail(job, FAILURE_IDLE, "said nothing for longer than its idle timeout");
    else if (agent_failed(engine, &job->report, exit_code, job->exit_signal, err_text.s, &failure,
                          &reason))
        job_fail(job, failure, "%s", reason.s);
    else if (is_judged_failed(job, &reason))
        job_fail(job, FAILURE_TRANSIENT, "%s", reason.s);
    else if (task_of(job)->read_only)
        finish_unlanded(job);
    else
        stage(job);
}

static int start_agent(struct job *job, struct err *err)
{
    autofree char *prompt = job_file(job, "prompt"), *out = job_file(job, "out");
    autofree char *errlog = job_file(job, "err");
    struct agent_context ctx = {
        .self = job->run->opts.self,
        .exe = job->run->opts.engine_exe,
        .prompt_file = prompt,
        .dir = job->cwd,
    };
    own_cleanup(agent_call_done) struct agent_call call = {0};
    if (job_write_prompt(job, prompt, err) || job_environment(job, &call.env, err) ||
        agent_build(run_engine(job->run, job->task), task_of(job), &ctx, &call, err) ||
        process_start_guarded(job, &call, prompt, out, errlog, on_agent_end, err))
        return -1;
    agent_tail_open(&job->tail, out);
    job->agent_started = job->last_output = clock_mono();
    job->tick = loop_timer(job->run->loop, TICK_MS, on_tick, job);
    return 0;
}

void job_run_agent(struct job *job)
{
    struct err err = {0};
    task_set_state(job->run, job->task, TASK_RUNNING);
    if (start_agent(job, &err)) {
        job_fail(job, FAILURE_SETUP, "%s", err.msg);
        return;
    }
    struct arena a = {0};
    struct node *data = build_map(&a);
    build_put_string(&a, data, "engine", run_engine_name(job->run, job->task));
    build_put_string(&a, data, "workspace", job->cwd);
    build_put_string(&a, data, "log", job->dir);
    record(job->run, EV_TASK_STARTED, job->task, data);
    arena_done(&a);
}

/* --- beginning ---------------------------------------------------------------------------- */

static struct job *job_new(struct run *run, uint32_t task)
{
    struct job *job = mem_alloc(sizeof(*job));
    *job = (struct job){
        .run = run,
        .task = task,
        .attempt = ++run->tasks[task].status.attempts,
        .process = {.lifeline = -1, .status = -1},
        .report = AGENT_REPORT_INIT,
        .tail = {.fd = -1, .line = BUF_INIT},
        .candidate = BUF_INIT,
        .candidate_base = BUF_INIT,
    };
    job->dir = mem_printf("%s/%s/%d", run->dir, run->pf->plan.tasks[task].id, job->attempt);
    run->tasks[task].job = job;
    run->jobs++;
    return job;
}

void job_start(struct run *run, uint32_t task)
{
    struct job *job = job_new(run, task);
    autofree char *tmp = job_file(job, "tmp");
    struct err err = {0};
    if (!run->tasks[task].status.started)
        run->tasks[task].status.started = clock_wall();
    task_set_state(run, task, TASK_PREPARING);
    record(run, EV_TASK_PREPARING, task, NULL);
    if (dirs_make(tmp, &err))
        job_error(job, &err);
    else
        prepare(job);
}
