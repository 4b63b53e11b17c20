#include "run/control/requests.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/limits/budget.h"
#include "run/prepare/prepare.h"
#include "run/rework/request.h"
#include "run/run_private.h"
#include "sys/guard/guard.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 10000 };

/* One request while it is carried out; what is appended to `text` is the answer. */
struct wish {
    struct run *run;
    const struct node *request;
    struct buf text;
};

static int refuse(struct wish *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct wish *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_cut(&w->text, 0);
    buf_addv(&w->text, fmt, ap);
    va_end(ap);
    return -1;
}

static bool is_over(enum task_state state)
{
    return state >= TASK_LANDED;
}

static int find_any(struct wish *w, uint32_t *ret)
{
    const struct run *run = w->run;
    const char *id = node_new_string(w->request, "task", NULL);
    const struct task *t = id ? plan_find(&run->pf->plan, id) : NULL;
    if (!id)
        return refuse(w, "the request names no task");
    if (!t || (run->opts.wanted && !run->opts.wanted[t->index]))
        return refuse(w, "run %s has no task '%s'", run->id, id);
    *ret = t->index;
    return 0;
}

/* One that has not ended. */
static int find_task(struct wish *w, uint32_t *ret)
{
    if (find_any(w, ret))
        return -1;
    enum task_state state = w->run->tasks[*ret].status.state;
    return is_over(state) ? refuse(w, "'%s' has ended already: it is %s",
                                   w->run->pf->plan.tasks[*ret].id, task_state_name(state))
                          : 0;
}

static const char *id_of(const struct wish *w, uint32_t task)
{
    return w->run->pf->plan.tasks[task].id;
}

static bool is_true(const struct node *request, const char *key)
{
    const struct node *n = node_get(request, key);
    return n && n->kind == NODE_BOOL && n->truth;
}

/* It waits for a retry or a limit: its last attempt is taken up only to be ended. */
static void stop_waiting(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    bool keeps = tr->session && run->base && !tr->remade; /* else nothing is there yet */
    watch_free(tr->retry);
    tr->retry = NULL;
    tr->parked = false;
    struct attempt *job = attempt_new(run, task, tr->status.attempts);
    job->stopped = STOP_USER;
    job->agent_started = 1; /* someone has worked in it */
    if (keeps) {
        prepare_adopt(job, job->attempt);
        job->prepared = true;
    }
    job->session = steal_ptr(tr->session);
    tr->repair = REPAIR_NONE;
    tr->remade = false;
    attempt_fail_stopped(job);
}

static int stop_job(struct wish *w, uint32_t task)
{
    struct attempt *job = w->run->tasks[task].job;
    bool waits = land_leave(job);
    if (!waits && (!job->process.watch || job->tearing_down))
        return refuse(w, "'%s' is about to end: it cannot be stopped any more", id_of(w, task));
    record(w->run, EV_TASK_STOPPING, task, NULL);
    if (waits) {
        job->stopped = STOP_USER;
        attempt_fail_stopped(job);
    } else {
        attempt_stop(job, STOP_USER, GUARD_STOP);
    }
    return 0;
}

static int stop_all(struct wish *w)
{
    buf_addf(&w->text, "run %s is asked to stop", w->run->id);
    run_stop(w->run, SIGTERM);
    return 0;
}

static int stop(struct wish *w)
{
    uint32_t task = 0;
    if (is_true(w->request, "all"))
        return stop_all(w);
    if (find_task(w, &task))
        return -1;
    const struct task_run *tr = &w->run->tasks[task];
    buf_addf(&w->text, "'%s' is asked to stop; what it made is saved", id_of(w, task));
    if (tr->job)
        return stop_job(w, task);
    if (!tr->status.attempts)
        return refuse(w, "'%s' has not begun; 'anabranch skip %s' keeps it from that",
                      id_of(w, task), id_of(w, task));
    record(w->run, EV_TASK_STOPPING, task, NULL);
    stop_waiting(w->run, task);
    return 0;
}

static int skip(struct wish *w)
{
    uint32_t task = 0;
    if (find_task(w, &task))
        return -1;
    const struct task_run *tr = &w->run->tasks[task];
    if (tr->job || tr->session)
        return refuse(w, "'%s' is under way; 'anabranch stop %s' stops it", id_of(w, task),
                      id_of(w, task));
    buf_addf(&w->text, "'%s' is skipped, with all that depends on it", id_of(w, task));
    task_skip(w->run, task, "skipped by a person");
    return 0;
}

static int retry(struct wish *w)
{
    uint32_t task = 0;
    struct err err = {0};
    if (find_any(w, &task))
        return -1;
    return request_retry(w->run, task, is_true(w->request, "fresh"), &w->text, &err)
               ? refuse(w, "%s", err.msg)
               : 0;
}

static int say(struct wish *w)
{
    const char *words = node_new_string(w->request, "text", "");
    uint32_t task = 0;
    struct err err = {0};
    if (strspn(words, " \t\r\n") == strlen(words))
        return refuse(w, "there is nothing to say");
    if (find_any(w, &task))
        return -1;
    return request_say(w->run, task, words, &w->text, &err) ? refuse(w, "%s", err.msg) : 0;
}

static int pause_run(struct wish *w)
{
    if (w->run->paused)
        return refuse(w, "run %s is paused already", w->run->id);
    w->run->paused = true;
    record(w->run, EV_RUN_PAUSED, -1, NULL);
    buf_addf(&w->text, "run %s is paused: nothing more is begun, what runs goes on", w->run->id);
    return 0;
}

static int continue_run(struct wish *w)
{
    if (!w->run->paused)
        return refuse(w, "run %s is not paused", w->run->id);
    w->run->paused = false;
    record(w->run, EV_RUN_RESUMED, -1, NULL);
    buf_addf(&w->text, "run %s goes on: tasks are begun again", w->run->id);
    run_wake(w->run);
    return 0;
}

static int set_workers(struct wish *w)
{
    struct run *run = w->run;
    int64_t was = (int64_t)run->sched.workers, by = node_new_int(w->request, "by", 0);
    int64_t n = node_new_int(w->request, "n", 0);
    if (by < -WORKERS_MAX || by > WORKERS_MAX)
        return refuse(w, "that is too many");
    n = by ? was + by : n;
    if (n < 1)
        return refuse(w, "there is to be at least one agent at work; 'anabranch pause' begins "
                         "no more of them");
    if (n > WORKERS_MAX)
        return refuse(w, "%d agents at the same time are the most", WORKERS_MAX);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "workers", n);
    node_put_int(&a, data, "from", was);
    record(run, EV_RUN_WORKERS, -1, data);
    arena_done(&a);
    run->sched.workers = (size_t)n;
    run_wake(run);
    buf_addf(&w->text, "up to %" PRId64 " agents at work at the same time, where it was %" PRId64,
             n, was);
    return 0;
}

static double real_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_REAL ? n->real : n && n->kind == NODE_INT ? (double)n->integer : -1;
}

/* One that may still use something: also one that has failed may be tried again. */
static int find_unlanded(struct wish *w, uint32_t *ret)
{
    if (find_any(w, ret))
        return -1;
    enum task_state state = w->run->tasks[*ret].status.state;
    return state == TASK_LANDED || state == TASK_DONE ? find_task(w, ret) : 0;
}

static int set_budget(struct wish *w)
{
    struct run *run = w->run;
    struct budget to = {.usd = real_of(w->request, "usd"),
                        .tokens = node_new_int(w->request, "tokens", -1)};
    uint32_t task = 0;
    bool of_task = node_get(w->request, "task");
    if (of_task && find_unlanded(w, &task))
        return -1;
    const struct budget *now = of_task ? &run->tasks[task].budget : &run->budget;
    if (to.usd < 0 && to.tokens < 0)
        return refuse(w, "the request names no amount");
    if ((to.usd >= 0 && now->usd < 0) || (to.tokens >= 0 && now->tokens < 0))
        return refuse(w, "there is no such budget: nothing is limited");
    if ((to.usd >= 0 && to.usd <= now->usd) || (to.tokens >= 0 && to.tokens <= now->tokens))
        return refuse(w, "the budget is that much already, or more");
    budget_raise(run, of_task ? (int64_t)task : -1, &to);
    buf_addf(&w->text, "the budget of %s is raised", of_task ? id_of(w, task) : "the run");
    return 0;
}

static const struct {
    const char *verb;
    int (*act)(struct wish *w); /* -1: it was refused; the text says what was done, or why not */
} verbs[] = {
    {"stop", stop},           {"skip", skip},
    {"pause", pause_run},     {"continue", continue_run},
    {"workers", set_workers}, {"budget", set_budget},
    {"retry", retry},         {"say", say},
};

static int act(struct wish *w)
{
    const char *verb = node_new_string(w->request, "verb", "");
    if (w->run->stopping || w->run->failed || w->run->home) {
        if (w->run->home || strcmp(verb, "stop") != 0 || !node_get(w->request, "all"))
            return refuse(w, "run %s is about to end", w->run->id);
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].verb, verb) == 0)
            return verbs[i].act(w);
    }
    return refuse(w, "the run does not know what to do: a newer program asks for something that "
                     "this one has not learnt");
}

struct node *control_act(struct run *run, const struct node *request, struct arena *a)
{
    struct wish w = {.run = run, .request = request, .text = BUF_INIT};
    struct node *answer = node_new_map(a);
    node_put_bool(a, answer, "ok", act(&w) == 0);
    node_put_string(a, answer, "text", w.text.s);
    if (run->home)
        node_put_bool(a, answer, "ends", true);
    buf_done(&w.text);
    return answer;
}
