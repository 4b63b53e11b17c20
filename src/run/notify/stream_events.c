#include "run/notify/stream_events.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "run/notify/message.h"
#include "run/resume/decide.h"
#include "run/run.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/wake.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <signal.h>
#include <string.h>

enum { CALL_MS = 2000, MESSAGE_WIDTH = 2000 };

/* One call of the logger. */
struct call {
    const char *event;
    char *message, *json;
};

struct parallel {
    struct run *run;
    bool *succeeded; /* per task: its agent has succeeded */
    size_t count, n;
    bool done_told;
    struct watch *due; /* all agents have succeeded: recorded after the current event */
    struct strv logger;
    VEC(struct call) calls; /* calls from `next` on have not started */
    size_t next;
    pid_t pid; /* of the running call; 0: none */
    struct watch *child, *limit;
};

static void start_next_call(struct parallel *p);

static void on_logger_end(void *ctx, int status)
{
    struct parallel *p = ctx;
    (void)status; /* the exit code does not matter */
    p->pid = 0;
    watch_free(p->child);
    watch_free(p->limit);
    p->child = p->limit = NULL;
    start_next_call(p);
    if (!p->pid)
        run_wake(p->run);
}

/* Kills the logger's process group. on_logger_end() sees its end. */
static void on_logger_timeout(void *ctx)
{
    struct parallel *p = ctx;
    (void)kill(-p->pid, SIGKILL);
}

static int spawn_logger(struct parallel *p, const struct call *c, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autoclose int in = -1;
    if (file_scratch(&in, err) || file_refill(in, c->json, strlen(c->json), err))
        return -1;
    for (size_t i = 0; i < p->logger.n; i++)
        strv_push(&argv, p->logger.v[i]);
    strv_pushl(&argv, "--event", c->event, "--message", c->message, NULL);
    git_outside_environment(&env);
    strv_pushf(&env, "ANABRANCH_RUN=%s", p->run->id);
    struct spawn sp = {
        .argv = argv.v,
        .env = env.v,
        .dir = p->run->pf->project,
        .fds = {in, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
        .new_session = true,
    };
    return spawn_start(&sp, &p->pid, err);
}

/* Runs one call at a time, because a log has an order. Skips calls that cannot start. */
static void start_next_call(struct parallel *p)
{
    struct err none = {0};
    while (!p->pid && p->next < p->calls.n) {
        const struct call *c = &p->calls.v[p->next++];
        if (spawn_logger(p, c, &none)) {
            p->pid = 0;
            continue;
        }
        p->child = loop_child(p->run->loop, p->pid, on_logger_end, p);
        p->limit = loop_timer(p->run->loop, CALL_MS, on_logger_timeout, p);
    }
}

/* A plan's shell line finds the arguments as "$@". Without them it would get no message. */
static void find_logger(struct parallel *p)
{
    const struct plan_command *own = &p->run->pf->plan.log;
    const struct plan_command *log = own->shell || own->argv.n ? own : &p->run->config.config.log;
    const char *const *given = p->run->opts.logger;
    for (; given && *given; given++)
        strv_push(&p->logger, *given);
    if (p->logger.n)
        return;
    if (log->shell)
        strv_pushl(&p->logger, "/bin/sh", "-c", log->shell, "log", NULL);
    for (size_t i = 0; i < log->argv.n; i++)
        strv_push(&p->logger, log->argv.v[i]);
}

static void record_message(struct parallel *p, enum event_kind kind, int64_t task, const char *text)
{
    struct arena a = {0};
    autofree char *name = notify_message_plan_name(p->run);
    autobuf struct buf message = BUF_INIT;
    text_add_harmless(&message, name);
    buf_addstr(&message, ": ");
    text_add_harmless(&message, text);
    buf_cut(&message, text_fit(message.s, message.len, MESSAGE_WIDTH));
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "message", message.s);
    record(p->run, kind, task, data); /* on_event() gets this event, as every observer does */
    arena_done(&a);
}

static void queue_call(struct parallel *p, const struct event *ev)
{
    struct arena a = {0};
    autobuf struct buf json = BUF_INIT;
    doc_write_line(&json, event_encode(ev, &a));
    buf_addch(&json, '\n');
    arena_done(&a);
    vec_push(&p->calls, (struct call){.event = event_name(ev->kind),
                                      .message = mem_str(node_get_string(ev->data, "message", "")),
                                      .json = buf_steal(&json)});
    start_next_call(p);
}

static const char *stream_noun(const struct parallel *p)
{
    bool one = p->n == 1;
    return p->run->opts.derived ? (one ? "stream" : "streams") : one ? "agent" : "agents";
}

static void record_all_done(struct parallel *p)
{
    watch_free(p->due);
    p->due = NULL;
    p->done_told = true;
    autofree char *text = mem_printf("all %zu %s are done", p->n, stream_noun(p));
    record_message(p, EV_PARALLEL_STREAMS_DONE, -1, text);
}

static void on_due(void *ctx)
{
    record_all_done(ctx);
}

static void set_succeeded(struct parallel *p, uint32_t task, bool succeeded)
{
    if (p->succeeded[task] == succeeded)
        return;
    p->succeeded[task] = succeeded;
    if (succeeded)
        p->count++;
    else
        p->count--;
    if (p->count < p->n) {
        watch_free(p->due);
        p->due = NULL;
    } else if (!p->done_told && !p->due) {
        p->due = loop_timer(p->run->loop, 0, on_due, p);
    }
}

static void record_conflict(struct parallel *p, const struct task *t)
{
    const struct task_status *s = &p->run->tasks[t->index].status;
    autofree char *text = mem_printf("%s %s", t->id, s->reason ? s->reason : "is in conflict");
    record_message(p, EV_PARALLEL_MERGE_CONFLICT, t->index, text);
}

static void on_event(void *ctx, const struct event *ev)
{
    struct parallel *p = ctx;
    const struct task *t = ev->task ? plan_find(&p->run->pf->plan, ev->task) : NULL;
    if (ev->kind >= EV_PARALLEL_START && ev->kind <= EV_PARALLEL_MERGE_CONFLICT && p->logger.n)
        queue_call(p, ev);
    if (!t)
        return;
    if (ev->kind == EV_TASK_COMMITTED || ev->kind == EV_TASK_DONE || ev->kind == EV_TASK_LANDED)
        set_succeeded(p, t->index, true);
    else if (ev->kind == EV_TASK_FAILED || ev->kind == EV_TASK_RETRIED ||
             ev->kind == EV_TASK_SKIPPED)
        set_succeeded(p, t->index, false);
    else if (ev->kind == EV_TASK_CONFLICTED)
        record_conflict(p, t);
}

/* Counts the agents that had already succeeded in a resumed run. */
static void count_earlier(struct parallel *p)
{
    const struct resume *r = run_resumed(p->run);
    for (uint32_t t = 0; t < p->run->pf->plan.task_count; t++) {
        bool wanted = !p->run->opts.wanted || p->run->opts.wanted[t];
        enum resume_step step = r ? r->tasks[t].step : RESUME_RUN;
        p->n += wanted;
        p->succeeded[t] =
            wanted && (step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_LAND);
        p->count += p->succeeded[t];
    }
    p->done_told = p->count == p->n;
}

static bool is_idle(const void *ctx)
{
    const struct parallel *p = ctx;
    return !p->pid;
}

static void give_up_calls(void *ctx)
{
    struct parallel *p = ctx;
    p->next = p->calls.n;
    if (p->pid)
        on_logger_timeout(p);
}

struct parallel *stream_events_new(struct run *run)
{
    static const struct open_work work = {is_idle, give_up_calls, CALL_MS};
    if (!run->opts.streams)
        return NULL;
    struct parallel *p = mem_alloc(sizeof(*p));
    p->run = run;
    p->succeeded = mem_array(run->pf->plan.task_count + 1, sizeof(bool));
    count_earlier(p);
    find_logger(p);
    vec_push(&run->audience.observers, (struct observer){.fn = on_event, .ctx = p, .work = &work});
    return p;
}

void stream_events_begin(struct parallel *p)
{
    enum { SHOWN = 20 };
    autobuf struct buf text = BUF_INIT;
    if (!p)
        return;
    const struct plan *plan = &p->run->pf->plan;
    buf_addf(&text, "%zu %s begin", p->n, stream_noun(p));
    for (size_t t = 0; t < plan->task_count && t < SHOWN; t++)
        buf_addf(&text, "%s%s", t ? "; " : ": ",
                 plan->tasks[t].title ? plan->tasks[t].title : plan->tasks[t].id);
    if (plan->task_count > SHOWN)
        buf_addstr(&text, "; ...");
    record_message(p, EV_PARALLEL_START, -1, text.s);
}

/* Adds the tasks that failed, and their reasons, in one line. */
static void add_failures(const struct parallel *p, struct buf *out)
{
    const struct run *run = p->run;
    for (uint32_t t = 0; t < run->pf->plan.task_count && out->len < MESSAGE_WIDTH; t++) {
        const struct task_status s = run_task(run, t);
        if (s.state == TASK_FAILED || s.state == TASK_SKIPPED)
            buf_addf(out, "%s%s %s%s%s", out->len ? "; " : "", run->pf->plan.tasks[t].id,
                     task_state_name(s.state), s.reason ? ": " : "", s.reason ? s.reason : "");
    }
}

static void record_outcome(struct parallel *p, int rc)
{
    struct run_result r = run_result(p->run);
    autobuf struct buf text = BUF_INIT;
    add_failures(p, &text);
    bool unfinished = run_is_unfinished(p->run);
    if (rc || r.signal || r.failed || r.skipped || unfinished) {
        if (unfinished)
            buf_addf(&text, "%ssome tasks did not start", text.len ? "; " : "");
        if (r.signal)
            buf_addf(&text, "%sstopped by signal %d", text.len ? "; " : "", r.signal);
        else if (rc)
            buf_addf(&text, "%sthe program had to stop", text.len ? "; " : "");
        record_message(p, EV_PARALLEL_FAIL, -1, text.s);
    } else if (!r.published && r.result) {
        buf_addf(&text, "the checkout could not follow: everything that landed is on %s", r.result);
        record_message(p, EV_PARALLEL_MERGE_CONFLICT, -1, text.s);
    } else if (!r.conflicted) {
        buf_addf(&text, "%zu landed", r.landed);
        if (r.done)
            buf_addf(&text, ", %zu done", r.done);
        record_message(p, EV_PARALLEL_COMPLETE, -1, text.s);
    }
}

void stream_events_end(struct parallel *p, int rc)
{
    if (!p)
        return;
    if (p->due)
        record_all_done(p);
    record_outcome(p, rc);
}

void stream_events_free(struct parallel *p)
{
    if (!p)
        return;
    watch_free(p->due);
    watch_free(p->child);
    watch_free(p->limit);
    for (size_t i = 0; i < p->calls.n; i++) {
        free(p->calls.v[i].message);
        free(p->calls.v[i].json);
    }
    vec_done(&p->calls);
    strv_done(&p->logger);
    free(p->succeeded);
    free(p);
}
