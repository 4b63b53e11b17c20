/*
 * Live events (server-sent events). A message contains the events since the last message, and the
 * rows of the tasks that they concern. The id of a message is its last event; a browser that
 * reconnects sends it, and we continue there.
 */
#include "view/serve/serve_private.h"

#include "base/map.h"
#include "base/mem.h"
#include "doc/doc.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS = 150,
    BEAT_MS = 10000,
    LISTENERS_MAX = 16,
    BATCH = 500,            /* events per message */
    UNSENT_MAX = 256 << 10, /* with more unsent bytes a listener gets no messages */
};

struct serve_listener {
    struct serve *serve;
    struct serve_listener *next;
    struct http_call *http;
    char *run;
    int64_t last;        /* the last event sent */
    bool behind;         /* there are more events to send */
    struct buf run_sent; /* the run's row in the last message */
};

struct message {
    struct serve_listener *to;
    struct buf events, tasks;
    size_t n, task_count;
    struct map touched; /* ids of tasks */
    struct arena arena;
    struct store_run row, newest;
    bool more;
};

static void message_done(struct message *m)
{
    buf_done(&m->events);
    buf_done(&m->tasks);
    map_done(&m->touched);
    arena_done(&m->arena);
}

static bool add_event(void *ctx, const struct store_event *ev)
{
    struct message *m = ctx;
    if (m->n == BATCH) {
        m->more = true;
        return false;
    }
    if (m->n++)
        buf_addch(&m->events, ',');
    serve_add_event(ev, &m->events);
    m->to->last = ev->seq;
    if (ev->task && !map_get(&m->touched, ev->task, strlen(ev->task))) {
        char *id = arena_str(&m->arena, ev->task);
        (void)map_put(&m->touched, id, strlen(id), id);
    }
    return true;
}

static bool add_touched_task(void *ctx, const struct store_task *task)
{
    struct message *m = ctx;
    if (!map_get(&m->touched, task->id, strlen(task->id)))
        return true;
    if (m->task_count++)
        buf_addch(&m->tasks, ',');
    doc_write_line(&m->tasks, serve_encode_task(task, &m->arena));
    return m->task_count < m->touched.n;
}

static int collect_events(struct message *m, struct err *err)
{
    struct serve_listener *l = m->to;
    struct store *store = l->serve->store;
    if (store_each_event(store, l->run, l->last, add_event, m, err) ||
        (m->touched.n && store_each_task(store, l->run, add_touched_task, m, err)))
        return -1;
    if (store_find_run(store, NULL, &m->arena, &m->newest, err))
        return -1;
    return store_find_run(store, l->run, &m->arena, &m->row, err);
}

/* Sends a message even without events if the run's row changed: it changes after the last event,
 * the run's process may die, and a newer run may start. */
static void send_message(struct message *m)
{
    struct serve_listener *l = m->to;
    autobuf struct buf out = BUF_INIT, run = BUF_INIT;
    buf_addf(&run, "\"newest\":\"%s\",\"run\":", m->newest.id);
    doc_write_line(&run, serve_encode_run(&m->row, &m->arena));
    if (!m->n && strcmp(run.s, l->run_sent.s) == 0)
        return;
    buf_addf(&out, "id: %lld\ndata: {\"now\":%lld,%s,\"tasks\":[%s],\"events\":[%s]}\n\n",
             (long long)l->last, (long long)clock_wall(), run.s, m->tasks.s, m->events.s);
    http_stream_send(l->http, out.s, out.len);
    buf_cut(&l->run_sent, 0);
    buf_add(&l->run_sent, run.s, run.len);
}

/* If the store cannot be read, the next tick tries again. */
static void send_news(struct serve_listener *l)
{
    own_cleanup(message_done) struct message m = {.to = l, .events = BUF_INIT, .tasks = BUF_INIT};
    if (http_stream_unsent(l->http) > UNSENT_MAX) {
        l->behind = true;
        return;
    }
    if (l->serve->store && collect_events(&m, NULL) == 0 && m.row.id)
        send_message(&m);
    l->behind = m.more;
}

static void send_heartbeat(struct serve *serve)
{
    static const char comment[] = ": still here\n\n";
    int64_t now = clock_mono();
    if (now < serve->beat)
        return;
    serve->beat = now + BEAT_MS;
    (void)serve_open_store(serve, NULL);
    for (struct serve_listener *l = serve->listeners; l; l = l->next) {
        send_news(l);
        if (!http_stream_unsent(l->http))
            http_stream_send(l->http, comment, strlen(comment));
    }
}

/* Asks the store for its version, which takes some microseconds. Runs only while somebody
 * listens. */
static void on_tick(void *ctx)
{
    struct serve *serve = ctx;
    int64_t version = serve->version;
    serve->ticking = false;
    if (!serve->listeners)
        return;
    if (serve->store)
        (void)store_version(serve->store, &version, NULL);
    bool changed = version != serve->version;
    serve->version = version;
    for (struct serve_listener *l = serve->listeners; l; l = l->next) {
        if (changed || l->behind)
            send_news(l);
    }
    send_heartbeat(serve);
    watch_again(serve->tick, TICK_MS);
    serve->ticking = true;
}

static void start_timer(struct serve *serve)
{
    if (!serve->tick)
        serve->tick = loop_timer(serve->loop, TICK_MS, on_tick, serve);
    else if (!serve->ticking)
        watch_again(serve->tick, TICK_MS);
    serve->ticking = true;
}

static void free_listener(struct serve_listener *l)
{
    buf_done(&l->run_sent);
    free(l->run);
    free(l);
}

static void on_listener_gone(void *ctx, struct http_call *call)
{
    struct serve_listener *l = ctx;
    (void)call;
    for (struct serve_listener **at = &l->serve->listeners; *at; at = &(*at)->next) {
        if (*at == l) {
            *at = l->next;
            break;
        }
    }
    free_listener(l);
}

static size_t count_listeners(const struct serve *serve)
{
    size_t n = 0;
    for (const struct serve_listener *l = serve->listeners; l; l = l->next)
        n++;
    return n;
}

/* The last event that the browser received (if it reconnects), or that its page has read. */
static bool parse_last_event(const struct serve_call *c, int64_t *ret)
{
    const char *id = http_header(c->head, "last-event-id");
    char *end;
    if (!id)
        return http_query_int(c->head, "after", 0, ret);
    *ret = strtoll(id, &end, 10);
    return *id >= '0' && *id <= '9' && !*end;
}

void serve_live(struct serve_call *c)
{
    struct serve *serve = c->serve;
    int64_t last;
    if (!parse_last_event(c, &last)) {
        serve_answer_error(c->http, 400, "the last event must be a number");
        return;
    }
    if (count_listeners(serve) >= LISTENERS_MAX) {
        serve_answer_error(c->http, 503, "too many open pages; close one");
        return;
    }
    struct serve_listener *l = mem_alloc(sizeof(*l));
    *l = (struct serve_listener){.serve = serve,
                                 .http = c->http,
                                 .run = mem_str(c->run),
                                 .last = last,
                                 .run_sent = BUF_INIT};
    l->next = serve->listeners;
    serve->listeners = l;
    http_stream(c->http, "text/event-stream");
    http_call_on_gone(c->http, on_listener_gone, l);
    send_news(l);
    start_timer(serve);
}

void serve_live_close(struct serve *serve)
{
    for (struct serve_listener *l; (l = serve->listeners);) {
        serve->listeners = l->next;
        free_listener(l);
    }
    watch_free(serve->tick);
}
