/*
 * One attempt at a task: prepares its workspace and runs its agent. Each step starts a process and
 * sets `next`, the step that the loop calls when the process has ended.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "run/attempt/attempt_dir.h"
#include "run/attempt/findings.h"
#include "run/attempt/inputs.h"
#include "run/attempt/logs.h"
#include "run/land/clean_tree.h"
#include "run/limits/budget.h"
#include "run/limits/lane.h"
#include "run/limits/park.h"
#include "run/prepare/delete_later.h"
#include "run/prepare/prepare.h"
#include "run/rework/repair.h"
#include "run/rework/request.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/guard.h"
#include "sys/proc/boot_id.h"
#include "workspace/commit/commit.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TICK_MS = 200, TAIL_MAX = 4096, CHATTER_MAX = 4 << 20 };

char *attempt_file(const struct attempt *job, const char *name)
{
    return mem_printf("%s/%s", job->dir, name);
}

/* Removes index files: each is as large as the repository has files, and nobody reads them again.
 */
static void remove_indexes(const struct attempt *job)
{
    autofree char *index = attempt_file(job, "index"),
                  *salvage = attempt_file(job, "salvage.index");
    autofree char *tmp = attempt_file(job, "tmp");
    (void)unlink(index); /* most attempts have only one of these */
    (void)unlink(salvage);
    agent_tidy(run_engine(job->run, job->task), tmp);
    (void)rmdir(tmp); /* fails, and keeps the folder, if the agent left files in it */
}

/* Keeps the session: a person may want to resume it. */
static void keep_session(struct attempt *job)
{
    const char *session = park_session(job);
    autofree char *kept = session && *session ? mem_str(session) : NULL;
    if (!kept)
        return;
    free(task_run(job)->was_in);
    task_run(job)->was_in = steal_ptr(kept);
}

void attempt_free(struct attempt *job)
{
    keep_session(job);
    logs_end(job);
    remove_indexes(job);
    logs_mask(job->run, job->dir);
    lane_leave(job->run, job->task);
    task_run(job)->job = NULL;
    job->run->jobs--;
    process_done(&job->process);
    watch_free(job->tick);
    output_tail_close(&job->tail);
    agent_errors_close(&job->errors);
    agent_report_done(&job->report);
    progress_done(&job->progress);
    stall_done(&job->stall);
    if (job->has_workspace) /* the workspace stays on disk */
        workspace_release(&job->ws);
    workspace_done(&job->ws);
    buf_done(&job->tree);
    work_scan_close(&job->found);
    buf_done(&job->candidate);
    buf_done(&job->candidate_base);
    buf_done(&job->was);
    clean_tree_remove(job);
    free(job->dir);
    free(job->cwd);
    free(job->excludes);
    free(job->brought);
    free(job->overrun);
    free(job->tampered);
    free(job->lost_dir);
    free(job->stuck);
    free(job->oversize);
    free(job->session);
    free(job->brief);
    ports_give_back(&job->run->ports, job->port);
    struct run *run = job->run;
    free(job);
    run_wake(run);
}

void attempt_read_tail(const struct attempt *job, const char *name, struct buf *out)
{
    autofree char *path = attempt_file(job, name);
    autobuf struct buf tail = BUF_INIT;
    struct secrets_cut cut = {0};
    if (file_read_end(path, CHATTER_MAX, &tail, &cut.front, NULL))
        return;
    if (strcmp(name, "err") == 0)
        agent_drop_chatter(run_engine(job->run, job->task), &tail);
    size_t skip = tail.len > TAIL_MAX ? tail.len - TAIL_MAX : 0;
    cut.front = cut.front || skip;
    secrets_mask_cut(&job->run->secrets, tail.s + skip, tail.len - skip, cut, out);
}

void attempt_tell(struct attempt *job, const char *text)
{
    struct task_run *tr = task_run(job);
    autobuf struct buf masked = BUF_INIT;
    secrets_mask(&job->run->secrets, text, strlen(text), &masked);
    free(tr->feedback);
    tr->feedback = buf_steal(&masked);
    job->told_why = true;
}

void attempt_feedback(struct attempt *job, const char *what, int exit_code, const char *output)
{
    autofree char *text = mem_printf("%s: exit code %d. This is the end of what it printed:\n\n%s",
                                     what, exit_code, output);
    attempt_tell(job, text);
}

void attempt_stop(struct attempt *job, enum stop_reason why, char order)
{
    if (job->tearing_down && order == GUARD_STOP)
        return; /* the teardown is part of an earlier stop */
    if (!job->stopped)
        job->stopped = why;
    process_order(job, order);
}

void attempt_pause(struct attempt *job)
{
    process_order(job, GUARD_PAUSE);
}

void attempt_continue(struct attempt *job, int64_t lost)
{
    if (job->agent_started)
        job->agent_started += lost;
    job->last_output += lost;
    job->report.waits += job->report.waits ? lost : 0;
    if (job->stall.asked)
        job->stall.asked += lost;
    job->deadline += lost;
    process_order(job, GUARD_CONTINUE);
}

/* Output is a sign of life, on standard error too. */
static void note_output(struct attempt *job)
{
    autofree char *out = attempt_file(job, "out"), *err = attempt_file(job, "err");
    struct stat a = {0}, b = {0};
    (void)stat(out, &a);
    (void)stat(err, &b);
    if (a.st_size + b.st_size != job->output_size) {
        job->output_size = a.st_size + b.st_size;
        job->last_output = clock_mono();
        agent_errors_read(&job->errors);
        logs_more(job);
    }
}

/* Reads the agent's new output. Returns true if there may be more, as an agent can write faster
 * than we read. */
static bool read_output(struct attempt *job)
{
    enum { STEPS = 256 };
    int steps = 0;
    while (steps < STEPS && output_tail_more(&job->tail))
        steps++;
    return steps == STEPS;
}

static void on_tick(void *ctx)
{
    struct attempt *job = ctx;
    const struct task *t = task_of(job);
    int64_t now = clock_mono();
    int64_t timeout = t->timeout > 0 ? t->timeout : job->run->opts.timeout;
    bool more = read_output(job);
    note_output(job);
    progress_tell(job, true);
    if (job->spoke &&
        !job->report
             .failed) /* a failure message would have been followed by the report of the failure */
        lane_prove(job->run, job->task);
    job->spoke = job->report.speaks;
    if (timeout > 0 && now - job->agent_started >= timeout)
        attempt_stop(job, STOP_TIMEOUT, GUARD_STOP);
    else
        stall_look(job);
    if (!job->stopped)
        watch_again(job->tick, more ? 1 : TICK_MS);
}

static bool is_judged_failed(struct attempt *job, struct buf *reason)
{
    const struct run_options *opts = &job->run->opts;
    return opts->judge && opts->judge(opts->judge_ctx, job->task, job->dir, reason);
}

/* Lets a drop-in classify the failure. With exit code 0, only the agent's own report says that it
 * failed. */
static enum failure classify_failure(const struct attempt *job, int exit_code, enum failure failure)
{
    const struct run_options *opts = &job->run->opts;
    if (!opts->blame || job->exit_signal)
        return failure;
    return opts->blame(opts->judge_ctx, job->task, job->dir, exit_code,
                       job->report.failed ? failure : FAILURE_TRANSIENT);
}

static bool is_other_failure(const struct attempt *job)
{
    return job->report.failed && job->report.failure != FAILURE_LIMIT;
}

/* True if the agent stopped early but its own commits may count. A read-only task has no result
 * without the agent's last message. */
static bool counts_by_commits(const struct attempt *job, int exit_code)
{
    const struct task *t = task_of(job);
    return agent_ended_early(run_engine(job->run, job->task), &job->report, exit_code,
                             job->exit_signal) &&
           !t->read_only && !t->hand_on;
}

static void on_agent_end(struct attempt *job, int exit_code)
{
    autobuf struct buf err_text = BUF_INIT, reason = BUF_INIT;
    enum engine engine = run_engine(job->run, job->task);
    enum failure failure = FAILURE_TRANSIENT;
    struct err err = {0};
    agent_errors_read(&job->errors);
    if (job->flooded)
        output_tail_close(&job->tail);
    else
        output_tail_end(&job->tail);
    watch_free(job->tick);
    job->tick = NULL;
    progress_tell(job, false);
    progress_tell_exit(job);
    logs_end(job);
    task_run(job)->status.exit_code = exit_code;
    sched_set_aside(&job->run->sched, job->task);
    run_wake(job->run);
    bool limited = job->stopped == STOP_LIMIT;
    if (!limited && (exit_code == 0 ? !job->report.failed : is_other_failure(job)))
        lane_prove(job->run, job->task);
    attempt_read_tail(job, "err", &err_text);
    if (job->run->opts.silent_ok && exit_code == 0 && !job->report.finished)
        job->report.finished = job->report.ok = true;
    if (job->stopped == STOP_USER)
        attempt_fail_stopped(job);
    else if (job->stopped == STOP_TIMEOUT)
        attempt_fail(job, FAILURE_TIMEOUT, "took longer than its timeout");
    else if (job->stopped == STOP_IDLE)
        attempt_fail(job, FAILURE_IDLE, "printed nothing for longer than its idle timeout");
    else if (job->stopped == STOP_QUESTION)
        attempt_fail(job, FAILURE_IDLE,
                     "waited for an answer, and no person is there to give one: %s",
                     job->stall.question);
    else if (limited)
        attempt_fail(job, FAILURE_LIMIT, "%s", job->stall.limit);
    else if (job->stopped == STOP_BUDGET)
        attempt_fail(job, FAILURE_BUDGET, "%s is used up",
                     job->run->budget_spent ? "the run's budget" : "its budget");
    else if (process_was_broken(job, &failure, &reason))
        attempt_fail(job, failure, "%s", reason.s);
    else if (!(job->ended_early = counts_by_commits(job, exit_code)) &&
             agent_failed(engine, &job->report, exit_code, job->exit_signal, err_text.s, &failure,
                          &reason))
        attempt_fail(job, classify_failure(job, exit_code, failure), "%s", reason.s);
    else if (job->tampered)
        attempt_fail(job, FAILURE_SCOPE, "%s", job->tampered);
    else if (is_judged_failed(job, &reason))
        attempt_fail(job, classify_failure(job, exit_code, FAILURE_TRANSIENT), "%s", reason.s);
    else if (job->overrun && job->run->pf->plan.land_budget != LAND_BUDGET_WARN)
        attempt_fail(job, FAILURE_BUDGET, "used %s", job->overrun);
    else if (request_follow_up(job))
        return;
    else if (task_of(job)->hand_on && findings_keep(job, &err))
        attempt_error(job, &err);
    else if (task_of(job)->read_only)
        attempt_unlanded(job);
    else
        attempt_stage(job);
}

/* Adds up the usage of earlier attempts in the same session. */
static void add_earlier_usage(struct attempt *job)
{
    struct run *run = job->run;
    for (int i = job->attempt - 1; job->session && i > 0; i--) {
        autofree char *out = attempt_file_path(run->dir, task_of(job)->id, i, "out");
        autofree char *err = attempt_file_path(run->dir, task_of(job)->id, i, "err");
        if (!agent_add_use(run_engine(run, job->task), out, err, job->session, &job->report.before))
            break;
    }
}

static int start_agent(struct attempt *job, struct err *err)
{
    autofree char *prompt = attempt_file(job, "prompt"), *out = attempt_file(job, "out");
    autofree char *errlog = attempt_file(job, "err");
    struct agent_context ctx = {
        .self = job->run->opts.self,
        .exe = run_program(job->run, run_engine(job->run, job->task)),
        .prompt_file = prompt,
        .session = job->session,
        .usd = budget_left(job->run, job->task),
        .dir = job->cwd,
        .admin = job->has_workspace ? job->ws.admin : NULL,
        .common = job->has_workspace ? job->ws.common : NULL,
    };
    own_cleanup(agent_call_done) struct agent_call call = {0};
    struct task task = *task_of(job);
    if (task_run(job)->falls_back)
        task.model = task.fallback.model;
    agent_leave_out(run_engine(job->run, job->task), &task);
    if (attempt_write_prompt(job, prompt, err) || attempt_environment(job, &call.env, err) ||
        agent_build(run_engine(job->run, job->task), &task, &ctx, &call, err) ||
        process_start_guarded(job, &call, prompt, out, errlog, on_agent_end, err))
        return -1;
    output_tail_open(&job->tail, out, agent_dialect(run_engine(job->run, job->task)), &job->report);
    agent_errors_open(&job->errors, errlog, run_engine(job->run, job->task), &job->report);
    add_earlier_usage(job);
    logs_begin(job);
    job->agent_started = job->last_output = clock_mono();
    job->tick = loop_timer(job->run->loop, TICK_MS, on_tick, job);
    return 0;
}

void attempt_run_agent(struct attempt *job)
{
    struct err err = {0};
    task_set_state(job->run, job->task, TASK_RUNNING);
    if (start_agent(job, &err)) {
        attempt_fail(job, FAILURE_SETUP, "%s", err.msg);
        return;
    }
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "engine", run_engine_name(job->run, job->task));
    node_put_string(&a, data, "workspace", job->cwd);
    node_put_string(&a, data, "log", job->dir);
    record(job->run, EV_TASK_STARTED, job->task, data);
    arena_done(&a);
}

struct attempt *attempt_new(struct run *run, uint32_t task, int attempt)
{
    struct attempt *job = mem_alloc(sizeof(*job));
    *job = (struct attempt){
        .run = run,
        .task = task,
        .attempt = attempt,
        .process = {.lifeline = -1, .status = -1},
        .report = AGENT_REPORT_INIT,
        .tail = {.fd = -1},
        .tree = BUF_INIT,
        .candidate = BUF_INIT,
        .candidate_base = BUF_INIT,
        .was = BUF_INIT,
    };
    job->dir = attempt_path(run->dir, run->pf->plan.tasks[task].id, job->attempt);
    run->tasks[task].job = job;
    run->jobs++;
    return job;
}

/* Landing needs no worker. */
static void land_prepared(struct attempt *job)
{
    sched_set_aside(&job->run->sched, job->task);
    land_queue(job);
}

void attempt_start(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    bool lands = tr->lands;
    tr->parked = false;
    if (lands)
        sched_set_lanes(&run->sched, task, tr->lane, tr->spare);
    lane_enter(run, task);
    struct attempt *job =
        attempt_new(run, task, lands ? tr->status.attempts : ++tr->status.attempts);
    autofree char *boot = attempt_file(job, "boot");
    struct err err = {0};
    if (!tr->status.started)
        tr->status.started = clock_wall();
    tr->lands = false;
    job->session = steal_ptr(tr->session);
    if (!job->session) {
        free(steal_ptr(tr->was_in));
        task_set_state(run, task, TASK_PREPARING);
        record(run, EV_TASK_PREPARING, task, NULL);
    }
    if (attempt_dir_make(job, &err) || boot_note(boot, &err))
        attempt_error(job, &err);
    else if (job->session && tr->remade)
        repair_make_again(job);
    else if (job->session)
        prepare_adopted(job);
    else if (lands)
        prepare_again(job, land_prepared);
    else
        prepare(job);
}
