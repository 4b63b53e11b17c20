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
#include "sys/dirs.h"
#include "sys/file.h"
#include "sys/guard.h"

#include <stdarg.h>
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
    workspace_done(&job->ws);
    buf_done(&job->candidate);
    buf_done(&job->candidate_base);
    free(job->dir);
    free(job->cwd);
    struct run *run = job->run;
    free(job);
    run_wake(run);
}

/* The end of a text file, for reasons and feedback. */
static void read_tail(const char *path, struct buf *out)
{
    autobuf struct buf all = BUF_INIT;
    if (file_read(path, 64 << 20, &all, NULL))
        return;
    size_t skip = all.len > TAIL_MAX ? all.len - TAIL_MAX : 0;
    buf_add(out, all.s + skip, all.len - skip);
}

/* --- ends --------------------------------------------------------------------------------- */

static struct commit_job commit_job(const struct job *job, const char *index, const char *message)
{
    return (struct commit_job){
        .ws = &job->ws,
        .start = job->run->tasks[job->task].start,
        .index = index,
        .message = message,
    };
}

/* Saves what the attempt made under a ref; false where that failed, and the workspace must stay. */
static bool salvage(struct job *job)
{
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
    if (workspace_remove(&job->ws, &err))
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
    autobuf struct buf safe = BUF_INIT;
    text_harmless(&safe, reason, strlen(reason));
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
    build_put_string(a, data, "class", failure_names[tr->status.failure]);
    build_put_string(a, data, "reason", tr->reason);
    build_put_string(a, data, "log", job->dir);
    return data;
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
    uint32_t task = job->task;
    struct arena a = {0};
    struct node *data = failure_data(&a, job);
    bool saved = !job->has_workspace || salvage(job);
    if (saved)
        remove_workspace(job, true);
    int64_t delay =
        run->stopping || run->failed ? -1 : retry_delay(run, task, failure, job->report.reset);
    if (delay >= 0) {
        build_put_int(&a, data, "delay_ms", delay);
        record(run, EV_TASK_RETRIED, task, data);
        job_free(job);
        task_retry_later(run, task, delay);
    } else {
        task_set_state(run, task, TASK_FAILED);
        record(run, EV_TASK_FAILED, task, data);
        job_free(job);
        task_end(run, task, TASK_FAILED);
    }
    arena_done(&a);
}

void job_error(struct job *job, const struct err *err)
{
    job_fail(job, FAILURE_INTERNAL, "%s", err->msg);
}

void job_landed(struct job *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    if (!run->opts.keep)
        remove_workspace(job, true);
    task_end(run, task, TASK_LANDED);
    job_free(job);
}

/* The branch and the workspace stay, for the person who resolves it. */
void job_conflicted(struct job *job, const char *files)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    struct arena a = {0};
    autofree char *reason = mem_printf("conflicts with what has landed: %s", files);
    set_reason(job, FAILURE_CONFLICT, reason);
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

static void on_staged(struct job *job, int exit_code)
{
    struct task_run *tr = task_run(job);
    autofree char *index = job_file(job, "index");
    autofree char *message = job_message(job);
    struct commit_job cj = commit_job(job, index, message);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (exit_code != 0) {
        autofree char *log = job_file(job, "prepare.log");
        autobuf struct buf tail = BUF_INIT;
        read_tail(log, &tail);
        job_fail(job, FAILURE_INTERNAL, "git add failed: %s", tail.s);
        return;
    }
    if (commit_finish(&cj, &commit, &err)) {
        job_error(job, &err);
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

static void finish_read_only(struct job *job)
{
    struct run *run = job->run;
    uint32_t task = job->task;
    if (!job->has_workspace || salvage(job))
        remove_workspace(job, true);
    task_end(run, task, TASK_DONE);
    job_free(job);
}

/* --- the agent ---------------------------------------------------------------------------- */

void job_stop(struct job *job, enum stop_reason why, char order)
{
    if (!job->stopped)
        job->stopped = why;
    process_order(&job->process, order);
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
    if (tr->status.tokens_in != r->tokens_in || tr->status.tokens_out != r->tokens_out) {
        tr->status.tokens_in = r->tokens_in;
        tr->status.tokens_out = r->tokens_out;
        tr->status.usd = r->usd;
        build_put_int(&a, data, "tokens_in", r->tokens_in);
        build_put_int(&a, data, "tokens_out", r->tokens_out);
        if (r->usd >= 0)
            build_put_real(&a, data, "usd", r->usd);
        record(job->run, EV_TASK_USAGE, job->task, data);
    }
    if (r->action.len && (!tr->status.action || strcmp(tr->status.action, r->action.s) != 0)) {
        data = build_map(&a);
        autobuf struct buf safe = BUF_INIT;
        text_harmless(&safe, r->action.s, r->action.len);
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

static void on_agent_end(struct job *job, int exit_code)
{
    autofree char *err_path = job_file(job, "err");
    autobuf struct buf err_text = BUF_INIT, reason = BUF_INIT;
    enum engine engine = run_engine(job->run, job->task);
    enum failure failure = FAILURE_TRANSIENT;
    agent_tail_read(&job->tail, engine, &job->report);
    agent_tail_close(&job->tail);
    watch_free(job->tick);
    job->tick = NULL;
    tell_progress(job);
    tell_exit(job);
    task_run(job)->status.exit_code = exit_code;
    sched_set_aside(&job->run->sched, job->task);
    run_wake(job->run);
    read_tail(err_path, &err_text);
    if (job->stopped == STOP_USER)
        job_fail(job, FAILURE_INTERNAL, "stopped");
    else if (job->stopped == STOP_TIMEOUT)
        job_fail(job, FAILURE_TIMEOUT, "took longer than its timeout");
    else if (job->stopped == STOP_IDLE)
        job_fail(job, FAILURE_IDLE, "said nothing for longer than its idle timeout");
    else if (agent_failed(engine, &job->report, exit_code, job->exit_signal, err_text.s, &failure,
                          &reason))
        job_fail(job, failure, "%s", reason.s);
    else if (task_of(job)->read_only)
        finish_read_only(job);
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

static void run_agent(struct job *job)
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

void job_again(struct job *job)
{
    job->attempt = ++task_run(job)->status.attempts;
    free(job->dir);
    job->dir = mem_printf("%s/%s/%d", job->run->dir, task_of(job)->id, job->attempt);
    autofree char *tmp = job_file(job, "tmp");
    struct err err = {0};
    agent_report_done(&job->report);
    job->report = (struct agent_report)AGENT_REPORT_INIT;
    job->stopped = STOP_NONE;
    if (dirs_make(tmp, &err))
        job_error(job, &err);
    else
        run_agent(job);
}

/* --- the workspace ------------------------------------------------------------------------ */

static void on_setup(struct job *job, int exit_code)
{
    autofree char *log = job_file(job, "setup.err");
    autobuf struct buf tail = BUF_INIT;
    if (job->stopped) {
        job_fail(job, FAILURE_INTERNAL, "stopped");
    } else if (exit_code == 0) {
        run_agent(job);
    } else {
        read_tail(log, &tail);
        job_fail(job, FAILURE_SETUP, "workspace.setup ended with %d: %s", exit_code, tail.s);
    }
}

static void run_setup(struct job *job)
{
    const struct plan_command *setup = &job->run->pf->plan.setup;
    autofree char *out = job_file(job, "setup.out"), *errlog = job_file(job, "setup.err");
    own_cleanup(agent_call_done) struct agent_call call = {0};
    struct err err = {0};
    if (!setup->shell && !setup->argv.n) {
        run_agent(job);
        return;
    }
    if (job_environment(job, &call.env, &err) || job_command(setup, job->cwd, &call) ||
        process_start_guarded(job, &call, NULL, out, errlog, on_setup, &err))
        job_fail(job, FAILURE_SETUP, "%s", err.msg);
}

static void on_filled(struct job *job, int exit_code)
{
    autofree char *log = job_file(job, "prepare.log");
    autobuf struct buf tail = BUF_INIT;
    if (exit_code == 0) {
        record(job->run, EV_WORKSPACE_CREATED, job->task, NULL);
        run_setup(job);
        return;
    }
    read_tail(log, &tail);
    job_fail(job, FAILURE_SETUP, "the workspace could not be filled: %s", tail.s);
}

static int make_workspace(struct job *job, struct err *err)
{
    struct run *run = job->run;
    struct task_run *tr = task_run(job);
    const struct task *t = task_of(job);
    autofree char *path = mem_printf("%s/%s/%s", run->work, run->id, t->id);
    autofree char *log = job_file(job, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    free(tr->branch);
    free(tr->start);
    tr->branch = mem_printf("refs/heads/anabranch/%s/%s", run->id, t->id);
    tr->start = mem_str(t->dep_count ? run->tip : run->base_commit);
    if (workspace_create(&job->ws, &run->pf->repo, path, tr->branch, tr->start, err))
        return -1;
    job->has_workspace = true;
    tr->status.branch = tr->branch + strlen("refs/heads/");
    free(tr->workspace);
    tr->workspace = mem_str(path);
    tr->status.workspace = tr->workspace;
    job->cwd =
        *run->pf->repo.prefix ? mem_printf("%s/%s", path, run->pf->repo.prefix) : mem_str(path);
    workspace_fill(&job->ws, &argv, &env);
    return process_start(job, argv.v, env.v, path, log, on_filled, err);
}

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
    if (dirs_make(tmp, &err)) {
        job_error(job, &err);
    } else if (!run->base) {
        job->cwd = mem_str(run->pf->project);
        run_agent(job);
    } else if (make_workspace(job, &err)) {
        job_fail(job, FAILURE_SETUP, "%s", err.msg);
    }
}
