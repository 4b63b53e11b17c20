#include "run/control/requests.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/limits/budget.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/rework/request.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "run/turn.h"
#include "sys/guard/guard.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 10000 };

/* A request that is carried out; the answer is appended to `text`. */
struct request {
    struct run *run;
    const struct node *request;
    struct buf text;
};

static int refuse_request(struct request *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int refuse_request(struct request *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_cut(&r->text, 0);
    buf_addv(&r->text, fmt, ap);
    va_end(ap);
    return -1;
}

static int find_task(struct request *r, uint32_t *ret)
{
    const struct run *run = r->run;
    const char *id = node_get_string(r->request, "task", NULL);
    const struct task *t = id ? plan_find(&run->pf->plan, id) : NULL;
    if (!id)
        return refuse_request(r, "the request names no task");
    if (!t || (run->opts.wanted && !run->opts.wanted[t->index]))
        return refuse_request(r, "run %s has no task '%s'", run->id, id);
    *ret = t->index;
    return 0;
}

/* Finds the task, and decides about the request. */
static int judge_request(struct request *r, enum request_kind kind, uint32_t *ret_task,
                         enum request_answer *ret)
{
    struct err err = {0};
    if (find_task(r, ret_task))
        return -1;
    return request_judge(r->run, *ret_task, kind, ret, &r->text, &err)
               ? refuse_request(r, "%s", err.msg)
               : 0;
}

/* Stops a task that waits for a retry or a limit. We adopt its last attempt only to end it. */
static void stop_waiting_task(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    bool keeps = run->base.name &&
                 tr->life->start == START_RESUMED; /* otherwise there is no workspace yet */
    watch_free(tr->retry_timer);
    tr->retry_timer = NULL;
    struct attempt *attempt = attempt_new(run, task, tr->status.attempts);
    attempt->stopped = STOP_USER;
    attempt->agent.started = 1; /* an agent has worked in it */
    if (keeps) {
        prepare_adopt(attempt, attempt->number);
        attempt->prepare.done = true;
    }
    attempt->agent.session = steal_ptr(tr->session);
    task_report(run, task, ENGINE_WAIT_STOPPED);
    attempt_fail_stopped(attempt);
}

static int stop_all(struct request *r)
{
    buf_addf(&r->text, "run %s is asked to stop", r->run->id);
    run_stop(r->run, SIGTERM);
    return 0;
}

static int stop_task(struct request *r)
{
    enum request_answer answer;
    uint32_t task = 0;
    if (node_get_bool(r->request, "all"))
        return stop_all(r);
    if (judge_request(r, REQUEST_STOP, &task, &answer))
        return -1;
    struct attempt *attempt = r->run->tasks[task].attempt;
    record(r->run, EV_TASK_STOPPING, task, NULL);
    if (answer == REQUEST_STOP_WAITING) {
        stop_waiting_task(r->run, task);
    } else if (answer == REQUEST_STOP_LANDING) {
        attempt->stopped = STOP_USER;
        task_report(r->run, task, ENGINE_UNQUEUED);
        attempt_fail_stopped(attempt);
    } else {
        attempt_stop(attempt, STOP_USER, GUARD_STOP);
    }
    return 0;
}

static int skip_task(struct request *r)
{
    enum request_answer answer;
    uint32_t task = 0;
    if (judge_request(r, REQUEST_SKIP, &task, &answer))
        return -1;
    task_skip(r->run, task, "skipped by a person");
    return 0;
}

static int retry_task(struct request *r)
{
    uint32_t task = 0;
    struct err err = {0};
    if (find_task(r, &task))
        return -1;
    return request_retry(r->run, task, node_get_bool(r->request, "fresh"), &r->text, &err)
               ? refuse_request(r, "%s", err.msg)
               : 0;
}

static int say_to_task(struct request *r)
{
    const char *message = node_get_string(r->request, "text", "");
    uint32_t task = 0;
    struct err err = {0};
    if (strspn(message, " \t\r\n") == strlen(message))
        return refuse_request(r, "the message is empty");
    if (find_task(r, &task))
        return -1;
    return request_say(r->run, task, message, &r->text, &err) ? refuse_request(r, "%s", err.msg)
                                                              : 0;
}

static int pause_run(struct request *r)
{
    if (r->run->engine->paused)
        return refuse_request(r, "run %s is already paused", r->run->id);
    run_report_kind(r->run, ENGINE_PAUSED);
    record(r->run, EV_RUN_PAUSED, -1, NULL);
    buf_addf(&r->text, "run %s is paused: no new task starts, running tasks continue", r->run->id);
    return 0;
}

static int continue_run(struct request *r)
{
    if (!r->run->engine->paused)
        return refuse_request(r, "run %s is not paused", r->run->id);
    run_report_kind(r->run, ENGINE_CONTINUED);
    record(r->run, EV_RUN_RESUMED, -1, NULL);
    buf_addf(&r->text, "run %s continues: tasks start again", r->run->id);
    run_wake(r->run);
    return 0;
}

static int set_workers(struct request *r)
{
    struct run *run = r->run;
    int64_t before = (int64_t)run->engine->sched.workers, by = node_get_int(r->request, "by", 0);
    int64_t n = node_get_int(r->request, "n", 0);
    if (by < -WORKERS_MAX || by > WORKERS_MAX)
        return refuse_request(r, "that is too many agents");
    n = by ? before + by : n;
    if (n < 1)
        return refuse_request(r, "a run needs at least one agent; 'anabranch pause' starts no more "
                                 "tasks");
    if (n > WORKERS_MAX)
        return refuse_request(r, "the maximum is %d agents at the same time", WORKERS_MAX);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "workers", n);
    node_put_int(&a, data, "from", before);
    record(run, EV_RUN_WORKERS, -1, data);
    arena_done(&a);
    const struct engine_event ev = {.kind = ENGINE_WORKERS_SET, .task = -1, .workers = (size_t)n};
    (void)run_report(run, &ev);
    run_wake(run);
    buf_addf(&r->text, "up to %" PRId64 " agents run at the same time (before: %" PRId64 ")", n,
             before);
    return 0;
}

static double get_real(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_REAL ? n->real : n && n->kind == NODE_INT ? (double)n->integer : -1;
}

static int set_budget(struct request *r)
{
    struct run *run = r->run;
    struct budget wanted = {.usd = get_real(r->request, "usd"),
                            .tokens = node_get_int(r->request, "tokens", -1)};
    enum request_answer answer;
    uint32_t task = 0;
    bool of_task = node_get(r->request, "task");
    if (of_task && judge_request(r, REQUEST_BUDGET, &task, &answer))
        return -1;
    const struct budget *now =
        of_task ? &run->engine->budgets.tasks[task].budget : &run->engine->budgets.run.budget;
    if (wanted.usd < 0 && wanted.tokens < 0)
        return refuse_request(r, "the request has no amount");
    if ((wanted.usd >= 0 && now->usd < 0) || (wanted.tokens >= 0 && now->tokens < 0))
        return refuse_request(r, "there is no such budget: nothing is limited");
    if ((wanted.usd >= 0 && wanted.usd <= now->usd) ||
        (wanted.tokens >= 0 && wanted.tokens <= now->tokens))
        return refuse_request(r, "the budget is already that much, or more");
    budget_raise(run, of_task ? (int64_t)task : -1, &wanted);
    if (!of_task)
        buf_addstr(&r->text, "the budget of the run is raised");
    return 0;
}

static const struct {
    const char *verb;
    int (*carry_out)(
        struct request *r); /* -1: refused; the text says what we did, or why we refused */
} verbs[] = {
    {"stop", stop_task},        {"skip", skip_task},      {"pause", pause_run},
    {"continue", continue_run}, {"workers", set_workers}, {"budget", set_budget},
    {"retry", retry_task},      {"say", say_to_task},
};

static int carry_out(struct request *r)
{
    const char *verb = node_get_string(r->request, "verb", "");
    if (r->run->engine->stopping || r->run->engine->failed || r->run->engine->phase >= RUN_OVER) {
        if (r->run->engine->phase >= RUN_OVER || strcmp(verb, "stop") != 0 ||
            !node_get(r->request, "all"))
            return refuse_request(r, "run %s is about to end", r->run->id);
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].verb, verb) == 0)
            return verbs[i].carry_out(r);
    }
    return refuse_request(r, "the run does not know this request: it comes from a newer program");
}

struct node *control_act(struct run *run, const struct node *request, struct arena *a)
{
    struct request r = {.run = run, .request = request, .text = BUF_INIT};
    struct node *answer = node_new_map(a);
    node_put_bool(a, answer, "ok", carry_out(&r) == 0);
    node_put_string(a, answer, "text", r.text.s);
    if (run->engine->phase >= RUN_OVER)
        node_put_bool(a, answer, "ends", true);
    buf_done(&r.text);
    return answer;
}
