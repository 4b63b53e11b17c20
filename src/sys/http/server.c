#include "sys/http/server.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/proc/loop_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { SWEEP_MS = 500 };

enum state {
    IDLE,      /* no byte of a request has arrived */
    READING,   /* a part of a request has arrived */
    CALLED,    /* the callback has the request and will answer */
    STREAMING, /* the answer has no end */
    ANSWERING, /* we are writing the answer */
    LEAVING,   /* the last answer is written: we read no request any more and drop the input */
};

/* A connection with its current request. */
struct http_call {
    struct http_server *server;
    struct http_call *next;
    struct bufferevent *bev;
    enum state state;
    int64_t deadline;
    struct http_head head;
    size_t body; /* bytes of the body that are still to arrive; we drop them */
    bool close;
    http_call_fn *on_gone;
    void *gone_ctx;
};

struct http_server {
    struct loop *loop;
    struct evconnlistener *listener;
    struct watch *sweep_timer;
    uint16_t port;
    char *headers;
    http_call_fn *fn;
    void *ctx;
    struct http_call *calls;
    size_t n;
};

static void enter_state(struct http_call *c, enum state state, int64_t ms)
{
    c->state = state;
    c->deadline = clock_mono() + ms;
}

static void call_free(struct http_call *c)
{
    bufferevent_free(c->bev);
    http_head_done(&c->head);
    free(c);
}

/* Ends a connection that is no longer in the list. Tells the callback if it still has to answer. */
static void end_call(struct http_call *c)
{
    http_call_fn *fn = c->state == CALLED || c->state == STREAMING ? c->on_gone : NULL;
    c->server->n--;
    if (fn)
        fn(c->gone_ctx, c);
    call_free(c);
}

static void drop_call(struct http_call *c)
{
    for (struct http_call **at = &c->server->calls; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            break;
        }
    }
    end_call(c);
}

/* Closes our side and waits until the client closes its side. If we closed at once, with unread
 * input, the client could lose the answer. */
static void close_our_side(struct http_call *c)
{
    enter_state(c, LEAVING, 1000);
    (void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
}

static void write_head(struct http_call *c, int status, const char *type, const char *more)
{
    autobuf struct buf head = BUF_INIT;
    buf_addf(&head, "HTTP/1.1 %d %s\r\n%s%s", status, http_status_text(status), c->server->headers,
             more ? more : "");
    if (type)
        buf_addf(&head, "Content-Type: %s\r\n", type);
    if (c->close)
        buf_addstr(&head, "Connection: close\r\n");
    (void)bufferevent_write(c->bev, head.s, head.len);
}

void http_answer(struct http_call *c, const struct http_answer *answer)
{
    autobuf struct buf length = BUF_INIT;
    bool bare = answer->status == 204;
    bool head_only = c->head.method && strcmp(c->head.method, "HEAD") == 0;
    write_head(c, answer->status, answer->type, answer->more);
    if (!bare)
        buf_addf(&length, "Content-Length: %zu\r\n", answer->body ? answer->len : 0);
    buf_addstr(&length, "\r\n");
    (void)bufferevent_write(c->bev, length.s, length.len);
    if (answer->body && answer->len && !head_only && !bare)
        (void)bufferevent_write(c->bev, answer->body, answer->len);
    c->on_gone = NULL;
    enter_state(c, ANSWERING, HTTP_ANSWER_MS);
}

/* A bad request ends the connection: we do not know where the next request would begin. */
static void answer_error(struct http_call *c, int status)
{
    const char *text = http_status_text(status);
    c->close = true;
    http_answer(c, &(struct http_answer){status, "text/plain", NULL, text, strlen(text)});
}

void http_stream(struct http_call *c, const char *type)
{
    c->close = true;
    write_head(c, 200, type, NULL);
    (void)bufferevent_write(c->bev, "\r\n", 2);
    enter_state(c, STREAMING, HTTP_ANSWER_MS);
}

void http_stream_send(struct http_call *c, const char *s, size_t len)
{
    (void)bufferevent_write(c->bev, s, len);
}

size_t http_stream_unsent(const struct http_call *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

const struct http_head *http_call_head(const struct http_call *c)
{
    return &c->head;
}

void http_call_on_gone(struct http_call *c, http_call_fn *fn, void *ctx)
{
    c->on_gone = fn;
    c->gone_ctx = ctx;
}

/* Nobody here needs the body. We skip it, so that we do not read it as the next request. */
static bool skip_body(struct http_call *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t have = evbuffer_get_length(in), n = have < c->body ? have : c->body;
    (void)evbuffer_drain(in, n);
    c->body -= n;
    return !c->body;
}

static void call_handler(struct http_call *c)
{
    c->close = c->close || c->head.close;
    enter_state(c, CALLED, INT32_MAX);
    c->server->fn(c->server->ctx, c);
}

static void read_head(struct http_call *c, size_t len)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    int status;
    http_head_done(&c->head);
    int rc =
        http_head_read(&c->head, (const char *)evbuffer_pullup(in, (ev_ssize_t)len), len, &status);
    (void)evbuffer_drain(in, len);
    if (rc)
        answer_error(c, status);
    else if (c->head.length > HTTP_BODY_MAX)
        answer_error(c, 413);
    else
        c->body = (size_t)c->head.length;
}

/* Processes the input up to the next complete request. */
static void process_input(struct http_call *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t have = evbuffer_get_length(in);
    if (c->state == IDLE && have)
        enter_state(c, READING, HTTP_REQUEST_MS);
    if (c->state != READING)
        return;
    if (!c->head.method) {
        size_t look = have < HTTP_HEAD_MAX ? have : HTTP_HEAD_MAX;
        const char *s = (const char *)evbuffer_pullup(in, (ev_ssize_t)look);
        size_t len = http_head_length(s, look);
        if (len)
            read_head(c, len);
        else if (have >= HTTP_HEAD_MAX)
            answer_error(c, 431);
    }
    if (c->state == READING && c->head.method && skip_body(c))
        call_handler(c);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
    struct http_call *c = ctx;
    struct evbuffer *in = bufferevent_get_input(bev);
    if (c->state == LEAVING)
        (void)evbuffer_drain(in, evbuffer_get_length(in));
    else
        process_input(c);
}

/* Called when all output is written. */
static void on_written(struct bufferevent *bev, void *ctx)
{
    struct http_call *c = ctx;
    (void)bev;
    if (c->state == STREAMING)
        enter_state(c, STREAMING, HTTP_ANSWER_MS);
    if (c->state != ANSWERING)
        return;
    http_head_done(&c->head);
    c->head = (struct http_head){0};
    if (c->close) {
        close_our_side(c);
        return;
    }
    enter_state(c, IDLE, HTTP_IDLE_MS);
    process_input(c);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        drop_call(ctx);
}

/* Finds the connection that has waited longest for its next request. */
static struct http_call *find_idle(const struct http_server *server)
{
    struct http_call *found = NULL;
    for (struct http_call *c = server->calls; c; c = c->next) {
        if (c->state == IDLE && (!found || c->deadline < found->deadline))
            found = c;
    }
    return found;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int len, void *ctx)
{
    struct http_server *server = ctx;
    (void)listener;
    (void)from;
    (void)len;
    struct http_call *idle = server->n >= HTTP_CONNECTIONS_MAX ? find_idle(server) : NULL;
    if (idle)
        drop_call(idle);
    if (server->n >= HTTP_CONNECTIONS_MAX) {
        (void)evutil_closesocket(fd);
        return;
    }
    struct http_call *c = mem_alloc(sizeof(*c));
    c->server = server;
    c->bev = bufferevent_socket_new(loop_events(server->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!c->bev)
        abort();
    bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
    /* Buffers at most one request of maximum size. */
    bufferevent_setwatermark(c->bev, EV_READ, 0, HTTP_HEAD_MAX + HTTP_BODY_MAX);
    (void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    enter_state(c, IDLE, HTTP_REQUEST_MS); /* a client connects to send something at once */
    c->next = server->calls;
    server->calls = c;
    server->n++;
}

static bool is_overdue(const struct http_call *c, int64_t now)
{
    return now > c->deadline && (c->state != STREAMING || http_stream_unsent(c));
}

/* A callback about a lost client may answer other calls, so we search the list from its start
 * again. */
static void on_sweep(void *ctx)
{
    struct http_server *server = ctx;
    int64_t now = clock_mono();
    for (struct http_call *c = server->calls; c;) {
        if (!is_overdue(c, now)) {
            c = c->next;
        } else if (c->state == READING) {
            answer_error(c, 408);
            c = c->next;
        } else {
            drop_call(c);
            c = server->calls;
        }
    }
    watch_again(server->sweep_timer, SWEEP_MS);
}

/* For example, we have no descriptors left: we drop an idle connection. libevent accepts waiting
 * clients once there are descriptors again. */
static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
    struct http_server *server = ctx;
    struct http_call *idle = find_idle(server);
    (void)listener;
    if (idle)
        drop_call(idle);
}

static int listen_on(struct http_server *server, uint16_t port, struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
    server->listener = evconnlistener_new_bind(loop_events(server->loop), on_accept, server, flags,
                                               HTTP_CONNECTIONS_MAX, (struct sockaddr *)&at, len);
    if (!server->listener)
        return err_sys(err, "listen on 127.0.0.1:%u", port);
    evconnlistener_set_error_cb(server->listener, on_accept_error);
    if (getsockname(evconnlistener_get_fd(server->listener), (struct sockaddr *)&at, &len) < 0)
        return err_sys(err, "listen on 127.0.0.1:%u", port);
    server->port = ntohs(at.sin_port);
    return 0;
}

int http_server_open(struct http_server **ret, struct loop *loop, uint16_t port,
                     const char *headers, http_call_fn *fn, void *ctx, struct err *err)
{
    struct http_server *server = mem_alloc(sizeof(*server));
    server->loop = loop;
    server->headers = mem_str(headers);
    server->fn = fn;
    server->ctx = ctx;
    server->sweep_timer = loop_timer(loop, SWEEP_MS, on_sweep, server);
    if (listen_on(server, port, err)) {
        http_server_close(server);
        return -1;
    }
    *ret = server;
    return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_close(struct http_server *server)
{
    if (!server)
        return;
    for (struct http_call *c; (c = server->calls);) {
        server->calls = c->next;
        end_call(c);
    }
    if (server->listener)
        evconnlistener_free(server->listener);
    watch_free(server->sweep_timer);
    free(server->headers);
    free(server);
}
