#include "run/notify/stream_events.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "run/notify/message.h"
#include "run/resume/decide.h"
#include "run/run_private.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <signal.h>
#include <string.h>

enum { CALL_MS = 2000, MESSAGE_WIDTH = 2000 };

/* One thing to be told to the program that keeps a log. */
struct call {
    const char *event;
    char *message, *json;
};

struct parallel {
    struct run *run;
    bool *through; /* per task: its agent is done, and well */
    size_t count, n;
    bool done_told;
    struct watch *due; /* they are all through: to be told when this event is over */
    struct strv logger;
    VEC(struct call) calls; /* from `next` on they wait for their turn */
    size_t next;
    pid_t pid; /* of the one that is under way; 0: none */
    struct watch *child, *limit;
    bool finishing;
};

static void start_next(struct parallel *p);

static void on_logger_end(void *ctx, int status)
{
    struct parallel *p = ctx;
    (void)status; /* its own business */
    p->pid = 0;
    watch_free(p->child);
    watch_free(p->limit);
    p->child = p->limit = NULL;
    start_next(p);
    if (p->finishing && !p->pid)
        loop_stop(p->run->loop);
}

/* It leads a session and a group. Its end is seen by on_logger_end(). */
static void on_logger_late(void *ctx)
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

/* One at a time: a log has an order. What cannot be started is passed over. */
static void start_next(struct parallel *p)
{
    struct err none = {0};
    while (!p->pid && p->next < p->calls.n) {
        const struct call *c = &p->calls.v[p->next++];
        if (spawn_logger(p, c, &none)) {
            p->pid = 0;
            continue;
        }
        p->child = loop_child(p->run->loop, p->pid, on_logger_end, p);
        p->limit = loop_timer(p->run->loop, CALL_MS, on_logger_late, p);
    }
}

/* A plan's shell line finds the arguments as "$@"; without them it would be told nothing. */
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

static void tell(struct parallel *p, enum event_kind kind, int64_t task, const char *what)
{
    struct arena a = {0};
    autofree char *name = notify_message_plan_name(p->run);
    autobuf struct buf message = BUF_INIT;
    text_add_harmless(&message, name);
    buf_addstr(&message, ": ");
    text_add_harmless(&message, what);
    buf_cut(&message, text_fit(message.s, message.len, MESSAGE_WIDTH));
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "message", message.s);
    record(p->run, kind, task, data); /* comes back to on_event(), as to all who observe */
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
                                      .message = mem_str(node_new_string(ev->data, "message", "")),
                                      .json = buf_steal(&json)});
    start_next(p);
}

static const char *noun(const struct parallel *p)
{
    bool one = p->n == 1;
    return p->run->opts.derived ? (one ? "stream" : "streams") : one ? "agent" : "agents";
}

static void tell_done(struct parallel *p)
{
    watch_free(p->due);
    p->due = NULL;
    p->done_told = true;
    autofree char *what = mem_printf("all %zu %s are done", p->n, noun(p));
    tell(p, EV_PARALLEL_STREAMS_DONE, -1, what);
}

static void on_due(void *ctx)
{
    tell_done(ctx);
}

static void set_through(struct parallel *p, uint32_t task, bool through)
{
    if (p->through[task] == through)
        return;
    p->through[task] = through;
    if (through)
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

static void tell_conflict(struct parallel *p, const struct task *t)
{
    const struct task_status *s = &p->run->tasks[t->index].status;
    autofree char *what = mem_printf("%s %s", t->id, s->reason ? s->reason : "is in conflict");
    tell(p, EV_PARALLEL_MERGE_CONFLICT, t->index, what);
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
        set_through(p, t->index, true);
    else if (ev->kind == EV_TASK_FAILED || ev->kind == EV_TASK_RETRIED ||
             ev->kind == EV_TASK_SKIPPED)
        set_through(p, t->index, false);
    else if (ev->kind == EV_TASK_CONFLICTED)
        tell_conflict(p, t);
}

/* Of a run that is gone on with: whose agents were done before. */
static void count_past(struct parallel *p)
{
    const struct resume *r = run_resumed(p->run);
    for (uint32_t t = 0; t < p->run->pf->plan.task_count; t++) {
        bool wanted = !p->run->opts.wanted || p->run->opts.wanted[t];
        enum resume_step step = r ? r->tasks[t].step : RESUME_RUN;
        p->n += wanted;
        p->through[t] =
            wanted && (step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_LAND);
        p->count += p->through[t];
    }
    p->done_told = p->count == p->n;
}

struct parallel *stream_events_new(struct run *run)
{
    if (!run->opts.streams)
        return NULL;
    struct parallel *p = mem_alloc(sizeof(*p));
    p->run = run;
    p->through = mem_array(run->pf->plan.task_count + 1, sizeof(bool));
    count_past(p);
    find_logger(p);
    run_observe(run, on_event, p);
    return p;
}

void stream_events_begin(struct parallel *p)
{
    enum { SHOWN = 20 };
    autobuf struct buf what = BUF_INIT;
    if (!p)
        return;
    const struct plan *plan = &p->run->pf->plan;
    buf_addf(&what, "%zu %s begin", p->n, noun(p));
    for (size_t t = 0; t < plan->task_count && t < SHOWN; t++)
        buf_addf(&what, "%s%s", t ? "; " : ": ",
                 plan->tasks[t].title ? plan->tasks[t].title : plan->tasks[t].id);
    if (plan->task_count > SHOWN)
        buf_addstr(&what, "; ...");
    tell(p, EV_PARALLEL_START, -1, what.s);
}

/* Why it failed, in a line: each task that did. */
static void add_failures(const struct parallel *p, struct buf *out)
{
    const struct run *run = p->run;
    for (uint32_t t = 0; t < run->pf->plan.task_count && out->len < MESSAGE_WIDTH; t++) {
        const struct task_status *s = &run->tasks[t].status;
        if (s->state == TASK_FAILED || s->state == TASK_SKIPPED)
            buf_addf(out, "%s%s %s%s%s", out->len ? "; " : "", run->pf->plan.tasks[t].id,
                     task_state_name(s->state), s->reason ? ": " : "", s->reason ? s->reason : "");
    }
}

static void tell_end(struct parallel *p, int rc)
{
    struct run_result r = run_result(p->run);
    autobuf struct buf what = BUF_INIT;
    add_failures(p, &what);
    bool unfinished = run_is_unfinished(p->run);
    if (rc || r.signal || r.failed || r.skipped || unfinished) {
        if (unfinished)
            buf_addf(&what, "%snot all was begun", what.len ? "; " : "");
        if (r.signal)
            buf_addf(&what, "%sstopped by signal %d", what.len ? "; " : "", r.signal);
        else if (rc)
            buf_addf(&what, "%sthe program could not go on", what.len ? "; " : "");
        tell(p, EV_PARALLEL_FAIL, -1, what.s);
    } else if (!r.published && r.result) {
        buf_addf(&what, "the checkout could not follow, all that landed is on %s", r.result);
        tell(p, EV_PARALLEL_MERGE_CONFLICT, -1, what.s);
    } else if (!r.conflicted) {
        buf_addf(&what, "%zu landed", r.landed);
        if (r.done)
            buf_addf(&what, ", %zu done", r.done);
        tell(p, EV_PARALLEL_COMPLETE, -1, what.s);
    }
}

void stream_events_end(struct parallel *p, int rc)
{
    if (!p)
        return;
    if (p->due)
        tell_done(p);
    tell_end(p, rc);
}

static void on_enough(void *ctx)
{
    struct parallel *p = ctx;
    p->next = p->calls.n;
    if (p->pid)
        on_logger_late(p);
}

/* The run has ended: its signals mean no more than that nobody wants to wait. */
static void take_signals(struct parallel *p)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    watch_free(p->run->later);
    p->run->later = NULL;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        watch_free(p->run->signals[i]);
        p->run->signals[i] = loop_signal(p->run->loop, numbers[i], on_enough, p);
    }
}

void stream_events_finish(struct parallel *p)
{
    if (!p || !p->pid)
        return;
    p->finishing = true;
    take_signals(p);
    struct watch *deadline = loop_timer(p->run->loop, CALL_MS, on_enough, p);
    while (p->pid && loop_run(p->run->loop, NULL) == 0)
        continue;
    watch_free(deadline);
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
    free(p->through);
    free(p);
}
