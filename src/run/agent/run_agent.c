#include "run/agent/run_agent.h"

#include "agent/agent.h"
#include "agent/output_tail.h"
#include "base/arena.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "plan/engine/attempt/verdict.h"
#include "plan/engine/engine.h"
#include "run/agent/findings.h"
#include "run/agent/inputs.h"
#include "run/agent/logs.h"
#include "run/agent/progress.h"
#include "run/agent/stall.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/limits/budget.h"
#include "run/limits/lane.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/rework/message.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "run/watch/other_runs.h"
#include "sys/clock.h"
#include "sys/proc/loop.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { TICK_MS = 200 };

/* Output is a sign of life, on standard error too. */
static void note_output(struct attempt *attempt)
{
    autofree char *out = attempt_file(attempt, "out"), *err = attempt_file(attempt, "err");
    struct stat a = {0}, b = {0};
    (void)stat(out, &a);
    (void)stat(err, &b);
    if (a.st_size + b.st_size != attempt->agent.output_size) {
        attempt->agent.output_size = a.st_size + b.st_size;
        attempt->agent.last_output = clock_mono();
        agent_errors_read(&attempt->agent.errors);
        logs_more(attempt);
    }
}

bool attempt_read_output(struct attempt *attempt)
{
    enum { STEPS = 256 };
    int steps = 0;
    while (steps < STEPS && output_tail_more(&attempt->agent.tail))
        steps++;
    return steps == STEPS;
}

static void on_tick(void *ctx)
{
    struct attempt *attempt = ctx;
    bool more = attempt_read_output(attempt);
    note_output(attempt);
    progress_tell(attempt, true);
    if (attempt->agent.spoke_at_last_tick &&
        !attempt->agent.report
             .failed) /* a failure message would have been followed by the report of the failure */
        lane_prove(attempt->run, attempt->task);
    attempt->agent.spoke_at_last_tick = attempt->agent.report.speaks;
    stall_look(attempt);
    if (!attempt->stopped)
        watch_again(attempt->tick, more ? 1 : TICK_MS);
}

/* Reads the rest of the agent's output, which ends its work. */
static void finish_agent(struct attempt *attempt, int exit_code)
{
    agent_errors_end(&attempt->agent.errors);
    if (attempt->command.printed_too_much)
        output_tail_close(&attempt->agent.tail);
    else
        output_tail_end(&attempt->agent.tail);
    watch_free(attempt->tick);
    attempt->tick = NULL;
    progress_tell(attempt, false);
    progress_tell_exit(attempt);
    logs_end(attempt);
    task_run(attempt)->status.exit_code = exit_code;
    task_report(attempt->run, attempt->task, ENGINE_WORKER_FREED);
    run_wake(attempt->run);
    if (attempt->run->opts.silent_ok && exit_code == 0 && !attempt->agent.report.finished)
        attempt->agent.report.finished = attempt->agent.report.ok = true;
}

static struct agent_end describe_agent_end(struct attempt *attempt, struct buf *replaced,
                                           struct buf *reason)
{
    const struct run *run = attempt->run;
    const struct task *t = task_of(attempt);
    const struct agent_report *report = &attempt->agent.report;
    enum agent_engine engine = run_engine(run, attempt->task);
    struct agent_end end = {
        .process = process_describe_end(attempt, replaced),
        .question = attempt->agent.stall.question,
        .limit = attempt->agent.stall.limit,
        .run_budget_spent = run->engine->budgets.run.exceeded,
        .reports_failure = report->failed,
        .ended_early = agent_ended_early(engine, report, attempt->command.exit_code,
                                         attempt->command.exit_signal),
        .classifies = run->opts.blame,
        .tampered = attempt->tamper_error,
        .overrun = attempt->agent.overrun,
        .lands_over_budget = run->pf->plan.land_budget == LAND_BUDGET_WARN,
        .read_only = t->read_only,
        .hand_on = t->hand_on,
        .unjudged = run->opts.judge,
        .has_message = task_run(attempt)->pending_message,
    };
    autobuf struct buf err_text = BUF_INIT;
    attempt_read_tail(attempt, "err", &err_text);
    end.failed = agent_failed(engine, report, attempt->command.exit_code,
                              attempt->command.exit_signal, err_text.s, &end.failure, reason);
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
    why->failure = opts->blame(opts->judge_ctx, attempt->task, attempt->dir,
                               attempt->command.exit_code, why->failure);
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
        return message_deliver(attempt);
    case AGENT_KEEP_FINDINGS:
        end->findings_kept = true;
        if (findings_keep(attempt, &err) == 0)
            return false;
        attempt_error(attempt, &err);
        break;
    case AGENT_END_UNLANDED:
        task_report(attempt->run, attempt->task, ENGINE_NOTHING_TO_LAND);
        break;
    case AGENT_STAGE_IF_COMMITS:
        attempt->agent.ended_early = true;
        task_report(attempt->run, attempt->task, ENGINE_FINISHED);
        break;
    case AGENT_STAGE:
        task_report(attempt->run, attempt->task, ENGINE_FINISHED);
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
    for (int i = attempt->number - 1; attempt->agent.session && i > 0; i--) {
        autofree char *out = attempt_file_path(run->files.dir, task_of(attempt)->id, i, "out");
        autofree char *err = attempt_file_path(run->files.dir, task_of(attempt)->id, i, "err");
        if (!agent_add_use(run_engine(run, attempt->task), out, err, attempt->agent.session,
                           &attempt->agent.report.before))
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
        .session = attempt->agent.session,
        .usd = budget_left(attempt->run, attempt->task),
        .dir = attempt->cwd,
        .admin = attempt->has_workspace ? attempt->ws.admin : NULL,
        .common = attempt->has_workspace ? attempt->ws.common : NULL,
    };
    own_cleanup(agent_call_done) struct agent_call call = {0};
    struct task task = *task_of(attempt);
    if (run_uses_fallback(attempt->run, attempt->task))
        task.model = task.fallback.model;
    agent_leave_out(run_engine(attempt->run, attempt->task), &task);
    if (attempt_write_prompt(attempt, prompt, err) ||
        attempt_environment(attempt, &call.env, err) ||
        agent_build(run_engine(attempt->run, attempt->task), &task, &ctx, &call, err) ||
        process_start_guarded(attempt, &call, prompt, out, errlog, on_agent_end, err))
        return -1;
    output_tail_open(&attempt->agent.tail, out,
                     agent_dialect(run_engine(attempt->run, attempt->task)),
                     &attempt->agent.report);
    agent_errors_open(&attempt->agent.errors, errlog, run_engine(attempt->run, attempt->task),
                      &attempt->agent.report);
    add_earlier_usage(attempt);
    logs_begin(attempt);
    attempt->agent.started = attempt->agent.last_output = clock_mono();
    attempt->tick = loop_timer(attempt->run->loop, TICK_MS, on_tick, attempt);
    return 0;
}

static void record_started(struct attempt *attempt)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "engine", run_engine_name(attempt->run, attempt->task));
    node_put_string(&a, data, "workspace", attempt->cwd);
    node_put_string(&a, data, "log", attempt->dir);
    record(attempt->run, EV_TASK_STARTED, attempt->task, data);
    arena_done(&a);
}

void do_run_agent(struct run *run, const struct action *a, const struct engine_event *ev)
{
    struct attempt *attempt = run->tasks[a->task].attempt;
    struct err err = {0};
    (void)ev;
    task_report_and_record(attempt->run, attempt->task, ENGINE_AGENT_STARTED);
    if (start_agent(attempt, &err)) {
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
        return;
    }
    record_started(attempt);
}
