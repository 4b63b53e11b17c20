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

char *attempt_file(const struct attempt *attempt, const char *name)
{
    return mem_printf("%s/%s", attempt->dir, name);
}

static void remove_empty(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        (void)unlink(path);
}

/* Removes the files of the attempt that nobody reads again. An index is as large as the repository
 * has files. The guards have ended. A resume asks for the note about the boot only if the task is
 * not done. */
static void remove_spent_files(const struct attempt *attempt)
{
    const struct run *run = attempt->run;
    const bool done = task_has_succeeded(run->engine->tasks[attempt->task].state);
    const struct {
        const char *name;
        bool spent;
    } files[] = {{"index", run->base},
                 {"salvage.index", run->base},
                 {"guard", !attempt->unkillable},
                 {"boot", run->base && done}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        autofree char *path = attempt_file(attempt, files[i].name);
        if (files[i].spent)
            (void)unlink(path); /* most attempts have only some of these */
    }
    autofree char *tmp = attempt_file(attempt, "tmp"), *errlog = attempt_file(attempt, "err");
    autofree char *prepare = attempt_file(attempt, "prepare.log");
    remove_empty(errlog);
    remove_empty(prepare);
    agent_tidy(run_engine(run, attempt->task), tmp);
    (void)rmdir(tmp); /* fails, and keeps the folder, if the agent left files in it */
}

/* Keeps the session: a person may want to resume it. */
static void keep_session(struct attempt *attempt)
{
    const char *session = park_session(attempt);
    autofree char *kept = session && *session ? mem_str(session) : NULL;
    if (!kept)
        return;
    free(task_run(attempt)->last_session);
    task_run(attempt)->last_session = steal_ptr(kept);
}

void attempt_free(struct attempt *attempt)
{
    keep_session(attempt);
    logs_end(attempt);
    remove_spent_files(attempt);
    logs_mask(attempt->run, attempt->dir);
    task_report(attempt->run, attempt->task, ENGINE_ATTEMPT_CLOSED);
    task_run(attempt)->attempt = NULL;
    process_done(&attempt->process);
    watch_free(attempt->tick);
    output_tail_close(&attempt->tail);
    agent_errors_close(&attempt->errors);
    agent_report_done(&attempt->report);
    progress_done(&attempt->progress);
    stall_done(&attempt->stall);
    clean_tree_remove(attempt); /* it looks at the workspace */
    if (attempt->has_workspace) /* the workspace stays on disk */
        workspace_release(&attempt->ws);
    workspace_done(&attempt->ws);
    buf_done(&attempt->tree);
    work_scan_close(&attempt->scan);
    buf_done(&attempt->candidate);
    buf_done(&attempt->candidate_base);
    buf_done(&attempt->branch_before);
    free(attempt->dir);
    free(attempt->cwd);
    free(attempt->excludes);
    free(attempt->included_list);
    free(attempt->overrun);
    free(attempt->tamper_error);
    free(attempt->dir_error);
    free(attempt->unkillable);
    free(attempt->too_large);
    free(attempt->session);
    free(attempt->brief);
    ports_give_back(&attempt->run->ports, attempt->port);
    struct run *run = attempt->run;
    free(attempt);
    run_wake(run);
}

void attempt_read_tail(const struct attempt *attempt, const char *name, struct buf *out)
{
    autofree char *path = attempt_file(attempt, name);
    autobuf struct buf tail = BUF_INIT;
    struct secrets_cut cut = {0};
    if (file_read_end(path, CHATTER_MAX, &tail, &cut.front, NULL))
        return;
    if (strcmp(name, "err") == 0)
        agent_drop_chatter(run_engine(attempt->run, attempt->task), &tail);
    size_t skip = tail.len > TAIL_MAX ? tail.len - TAIL_MAX : 0;
    cut.front = cut.front || skip;
    secrets_mask_cut(&attempt->run->secrets, tail.s + skip, tail.len - skip, cut, out);
}

void attempt_tell(struct attempt *attempt, const char *text)
{
    struct task_run *tr = task_run(attempt);
    autobuf struct buf masked = BUF_INIT;
    secrets_mask(&attempt->run->secrets, text, strlen(text), &masked);
    free(tr->feedback);
    tr->feedback = buf_steal(&masked);
    attempt->has_feedback = true;
}

void attempt_feedback(struct attempt *attempt, const char *what, int exit_code, const char *output)
{
    autofree char *text = mem_printf("%s: exit code %d. This is the end of what it printed:\n\n%s",
                                     what, exit_code, output);
    attempt_tell(attempt, text);
}

void attempt_fail_for(struct attempt *attempt, const struct fail_reason *why)
{
    autobuf struct buf reason = BUF_INIT;
    fail_reason_write(why, &reason);
    attempt_fail(attempt, why->failure, "%s", reason.s);
}

void attempt_stop(struct attempt *attempt, enum stop_reason why, char order)
{
    if (attempt->tearing_down && order == GUARD_STOP)
        return; /* the teardown is part of an earlier stop */
    if (!attempt->stopped)
        attempt->stopped = why;
    process_order(attempt, order);
}

void attempt_pause(struct attempt *attempt)
{
    process_order(attempt, GUARD_PAUSE);
}

void attempt_continue(struct attempt *attempt, int64_t lost)
{
    if (attempt->agent_started)
        attempt->agent_started += lost;
    attempt->last_output += lost;
    attempt->report.waits += attempt->report.waits ? lost : 0;
    if (attempt->stall.asked)
        attempt->stall.asked += lost;
    attempt->deadline += lost;
    process_order(attempt, GUARD_CONTINUE);
}

/* Output is a sign of life, on standard error too. */
static void note_output(struct attempt *attempt)
{
    autofree char *out = attempt_file(attempt, "out"), *err = attempt_file(attempt, "err");
    struct stat a = {0}, b = {0};
    (void)stat(out, &a);
    (void)stat(err, &b);
    if (a.st_size + b.st_size != attempt->output_size) {
        attempt->output_size = a.st_size + b.st_size;
        attempt->last_output = clock_mono();
        agent_errors_read(&attempt->errors);
        logs_more(attempt);
    }
}

bool attempt_read_output(struct attempt *attempt)
{
    enum { STEPS = 256 };
    int steps = 0;
    while (steps < STEPS && output_tail_more(&attempt->tail))
        steps++;
    return steps == STEPS;
}

static void on_tick(void *ctx)
{
    struct attempt *attempt = ctx;
    bool more = attempt_read_output(attempt);
    note_output(attempt);
    progress_tell(attempt, true);
    if (attempt->spoke_at_last_tick &&
        !attempt->report
             .failed) /* a failure message would have been followed by the report of the failure */
        lane_prove(attempt->run, attempt->task);
    attempt->spoke_at_last_tick = attempt->report.speaks;
    stall_look(attempt);
    if (!attempt->stopped)
        watch_again(attempt->tick, more ? 1 : TICK_MS);
}

/* Reads the rest of the agent's output, which ends its work. */
static void finish_agent(struct attempt *attempt, int exit_code)
{
    agent_errors_end(&attempt->errors);
    if (attempt->printed_too_much)
        output_tail_close(&attempt->tail);
    else
        output_tail_end(&attempt->tail);
    watch_free(attempt->tick);
    attempt->tick = NULL;
    progress_tell(attempt, false);
    progress_tell_exit(attempt);
    logs_end(attempt);
    task_run(attempt)->status.exit_code = exit_code;
    task_report(attempt->run, attempt->task, ENGINE_WORKER_FREED);
    run_wake(attempt->run);
    if (attempt->run->opts.silent_ok && exit_code == 0 && !attempt->report.finished)
        attempt->report.finished = attempt->report.ok = true;
}

static struct agent_end describe_agent_end(struct attempt *attempt, struct buf *replaced,
                                           struct buf *reason)
{
    const struct run *run = attempt->run;
    const struct task *t = task_of(attempt);
    const struct agent_report *report = &attempt->report;
    enum agent_engine engine = run_engine(run, attempt->task);
    struct agent_end end = {
        .process = process_describe_end(attempt, replaced),
        .question = attempt->stall.question,
        .limit = attempt->stall.limit,
        .run_budget_spent = run->engine->budgets.run.exceeded,
        .reports_failure = report->failed,
        .ended_early = agent_ended_early(engine, report, attempt->exit_code, attempt->exit_signal),
        .classifies = run->opts.blame,
        .tampered = attempt->tamper_error,
        .overrun = attempt->overrun,
        .lands_over_budget = run->pf->plan.land_budget == LAND_BUDGET_WARN,
        .read_only = t->read_only,
        .hand_on = t->hand_on,
        .unjudged = run->opts.judge,
        .has_message = task_run(attempt)->pending_message,
    };
    autobuf struct buf err_text = BUF_INIT;
    attempt_read_tail(attempt, "err", &err_text);
    end.failed = agent_failed(engine, report, attempt->exit_code, attempt->exit_signal, err_text.s,
                              &end.failure, reason);
    end.reason = reason->s;
    return end;
}

static void ask_judge(struct attempt *attempt, struct agent_end *end, struct buf *reason)
{
    const struct run_options *opts = &attempt->run->opts;
    buf_cut(reason, 0);
    bool failed = opts->judge(opts->judge_ctx, attempt->task, attempt->dir, reason);
    end->unjudged = false;
    end->judgement = failed ? reason->s : NULL;
}

static void fail_as_classified(struct attempt *attempt, struct fail_reason *why)
{
    const struct run_options *opts = &attempt->run->opts;
    why->failure =
        opts->blame(opts->judge_ctx, attempt->task, attempt->dir, attempt->exit_code, why->failure);
    attempt_fail_for(attempt, why);
}

/* Carries out a verdict. Returns false if `end` has a new fact, so that we judge again. */
static bool carry_out(struct attempt *attempt, struct agent_verdict *verdict, struct agent_end *end,
                      struct buf *reason)
{
    struct err err = {0};
    switch (verdict->next) {
    case AGENT_FAIL_STOPPED:
        attempt_fail_stopped(attempt);
        break;
    case AGENT_CLASSIFY:
        fail_as_classified(attempt, &verdict->why);
        break;
    case AGENT_FAIL:
        attempt_fail_for(attempt, &verdict->why);
        break;
    case AGENT_ASK_JUDGE:
        ask_judge(attempt, end, reason);
        return false;
    case AGENT_DELIVER_MESSAGE:
        end->has_message = false;
        return request_follow_up(attempt);
    case AGENT_KEEP_FINDINGS:
        end->findings_kept = true;
        if (findings_keep(attempt, &err) == 0)
            return false;
        attempt_error(attempt, &err);
        break;
    case AGENT_END_UNLANDED:
        attempt_unlanded(attempt);
        break;
    case AGENT_STAGE_IF_COMMITS:
        attempt->ended_early = true;
        attempt_stage(attempt);
        break;
    case AGENT_STAGE:
        attempt_stage(attempt);
        break;
    }
    return true;
}

static void on_agent_end(struct attempt *attempt, int exit_code)
{
    autobuf struct buf replaced = BUF_INIT, reason = BUF_INIT;
    struct agent_verdict verdict;
    finish_agent(attempt, exit_code);
    struct agent_end end = describe_agent_end(attempt, &replaced, &reason);
    if (agent_end_proves_lane(&end))
        lane_prove(attempt->run, attempt->task);
    do
        verdict = agent_judge(&end);
    while (!carry_out(attempt, &verdict, &end, &reason));
}

/* Adds up the usage of earlier attempts in the same session. */
static void add_earlier_usage(struct attempt *attempt)
{
    struct run *run = attempt->run;
    for (int i = attempt->number - 1; attempt->session && i > 0; i--) {
        autofree char *out = attempt_file_path(run->dir, task_of(attempt)->id, i, "out");
        autofree char *err = attempt_file_path(run->dir, task_of(attempt)->id, i, "err");
        if (!agent_add_use(run_engine(run, attempt->task), out, err, attempt->session,
                           &attempt->report.before))
            break;
    }
}

static int start_agent(struct attempt *attempt, struct err *err)
{
    autofree char *prompt = attempt_file(attempt, "prompt"), *out = attempt_file(attempt, "out");
    autofree char *errlog = attempt_file(attempt, "err");
    struct agent_context ctx = {
        .self = attempt->run->opts.self,
        .exe = run_program(attempt->run, run_engine(attempt->run, attempt->task)),
        .prompt_file = prompt,
        .session = attempt->session,
        .usd = budget_left(attempt->run, attempt->task),
        .dir = attempt->cwd,
        .admin = attempt->has_workspace ? attempt->ws.admin : NULL,
        .common = attempt->has_workspace ? attempt->ws.common : NULL,
    };
    own_cleanup(agent_call_done) struct agent_call call = {0};
    struct task task = *task_of(attempt);
    if (lane_uses_fallback(attempt->run, attempt->task))
        task.model = task.fallback.model;
    agent_leave_out(run_engine(attempt->run, attempt->task), &task);
    if (attempt_write_prompt(attempt, prompt, err) ||
        attempt_environment(attempt, &call.env, err) ||
        agent_build(run_engine(attempt->run, attempt->task), &task, &ctx, &call, err) ||
        process_start_guarded(attempt, &call, prompt, out, errlog, on_agent_end, err))
        return -1;
    output_tail_open(&attempt->tail, out, agent_dialect(run_engine(attempt->run, attempt->task)),
                     &attempt->report);
    agent_errors_open(&attempt->errors, errlog, run_engine(attempt->run, attempt->task),
                      &attempt->report);
    add_earlier_usage(attempt);
    logs_begin(attempt);
    attempt->agent_started = attempt->last_output = clock_mono();
    attempt->tick = loop_timer(attempt->run->loop, TICK_MS, on_tick, attempt);
    return 0;
}

void attempt_run_agent(struct attempt *attempt)
{
    struct err err = {0};
    task_report_and_record(attempt->run, attempt->task, ENGINE_AGENT_STARTED);
    if (start_agent(attempt, &err)) {
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
        return;
    }
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "engine", run_engine_name(attempt->run, attempt->task));
    node_put_string(&a, data, "workspace", attempt->cwd);
    node_put_string(&a, data, "log", attempt->dir);
    record(attempt->run, EV_TASK_STARTED, attempt->task, data);
    arena_done(&a);
}

struct attempt *attempt_new(struct run *run, uint32_t task, int number)
{
    struct attempt *attempt = mem_alloc(sizeof(*attempt));
    *attempt = (struct attempt){
        .run = run,
        .task = task,
        .number = number,
        .process = {.lifeline = -1, .status = -1},
        .report = AGENT_REPORT_INIT,
        .tail = {.fd = -1},
        .tree = BUF_INIT,
        .candidate = BUF_INIT,
        .candidate_base = BUF_INIT,
        .branch_before = BUF_INIT,
    };
    attempt->dir = attempt_path(run->dir, run->pf->plan.tasks[task].id, attempt->number);
    run->tasks[task].attempt = attempt;
    task_report(run, task, ENGINE_ATTEMPT_OPENED);
    return attempt;
}

/* Landing needs no worker. */
static void land_prepared(struct attempt *attempt)
{
    task_report(attempt->run, attempt->task, ENGINE_WORKER_FREED);
    land_queue(attempt);
}

static void record_preparing(struct run *run, uint32_t task)
{
    free(steal_ptr(run->tasks[task].last_session));
    record_task_event(run, EV_TASK_PREPARING, task);
}

static void prepare_for(struct attempt *attempt, enum task_start start)
{
    switch (start) {
    case START_NEW:
        prepare(attempt);
        break;
    case START_LANDING:
        prepare_again(attempt, land_prepared);
        break;
    case START_RESUMED:
        prepare_adopted(attempt);
        break;
    case START_RESTORED:
        repair_make_again(attempt);
        break;
    }
}

void attempt_start(struct run *run, uint32_t task, enum task_start start)
{
    struct task_run *tr = &run->tasks[task];
    tr->status.attempts += start != START_LANDING;
    struct attempt *attempt = attempt_new(run, task, tr->status.attempts);
    autofree char *boot = attempt_file(attempt, "boot");
    struct err err = {0};
    if (!tr->status.started)
        tr->status.started = clock_wall();
    attempt->session = steal_ptr(tr->session);
    if (!attempt->session)
        record_preparing(run, task);
    if (attempt_dir_make(attempt, &err) || (run->base && boot_note(boot, &err)))
        attempt_error(attempt, &err);
    else
        prepare_for(attempt, start);
}
