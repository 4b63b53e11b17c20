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
    IDLE,      /* no byte of a request has come */
    READING,   /* some have */
    CALLED,    /* whoever answers has it */
    STREAMING, /* and answers for ever */
    ANSWERING, /* the answer is going out */
    LEAVING,   /* the last one has gone out: nothing more is read, the rest is thrown away */
};

/* A connection, and the request that it is at. */
struct http_call {
    struct http_server *server;
    struct http_call *next;
    struct bufferevent *bev;
    enum state state;
    int64_t deadline;
    struct http_head head;
    size_t body; /* bytes that are still to come and be thrown away */
    bool close;
    http_call_fn *on_gone;
    void *gone_ctx;
};

struct http_server {
    struct loop *loop;
    struct evconnlistener *listener;
    struct watch *delete_later;
    uint16_t port;
    char *headers;
    http_call_fn *fn;
    void *ctx;
    struct http_call *calls;
    size_t n;
};

/* --- connections -------------------------------------------------------------------------- */

static void enter(struct http_call *c, enum state state, int64_t ms)
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

/* Ends a connection that is in the list no more; whoever was to answer is told. */
static void finish(struct http_call *c)
{
    http_call_fn *fn = c->state == CALLED || c->state == STREAMING ? c->on_gone : NULL;
    c->server->n--;
    if (fn)
        fn(c->gone_ctx, c);
    call_free(c);
}

static void drop(struct http_call *c)
{
    for (struct http_call **at = &c->server->calls; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            break;
        }
    }
    finish(c);
}

/* The end of our side is sent, and theirs waited for: to close at once what has unread bytes would
 * take the answer away from the client. */
static void leave(struct http_call *c)
{
    enter(c, LEAVING, 1000);
    (void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
}

/* --- answers ------------------------------------------------------------------------------ */

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
    enter(c, ANSWERING, HTTP_ANSWER_MS);
}

/* What cannot be read ends the connection: where the next request would begin is not known. */
static void refuse(struct http_call *c, int status)
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
    enter(c, STREAMING, HTTP_ANSWER_MS);
}

void http_stream_send(struct http_call *c, const char *s, size_t len)
{
    (void)bufferevent_write(c->bev, s, len);
}

size_t http_stream_unsent(const struct http_call *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

void http_stream_end(struct http_call *c)
{
    c->on_gone = NULL;
    enter(c, ANSWERING, HTTP_ANSWER_MS);
    if (!http_stream_unsent(c))
        leave(c);
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

/* --- requests ----------------------------------------------------------------------------- */

/* What follows in the body is of no use to anyone here; it is only not to be taken for a request.
 */
static bool skip_body(struct http_call *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t have = evbuffer_get_length(in), n = have < c->body ? have : c->body;
    (void)evbuffer_drain(in, n);
    c->body -= n;
    return !c->body;
}

static void call_out(struct http_call *c)
{
    c->close = c->close || c->head.close;
    enter(c, CALLED, INT32_MAX);
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
        refuse(c, status);
    else if (c->head.length > HTTP_BODY_MAX)
        refuse(c, 413);
    else
        c->body = (size_t)c->head.length;
}

/* Goes on with what has come, up to the next request. */
static void advance(struct http_call *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t have = evbuffer_get_length(in);
    if (c->state == IDLE && have)
        enter(c, READING, HTTP_REQUEST_MS);
    if (c->state != READING)
        return;
    if (!c->head.method) {
        size_t look = have < HTTP_HEAD_MAX ? have : HTTP_HEAD_MAX;
        const char *s = (const char *)evbuffer_pullup(in, (ev_ssize_t)look);
        size_t len = http_head_length(s, look);
        if (len)
            read_head(c, len);
        else if (have >= HTTP_HEAD_MAX)
            refuse(c, 431);
    }
    if (c->state == READING && c->head.method && skip_body(c))
        call_out(c);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
    struct http_call *c = ctx;
    struct evbuffer *in = bufferevent_get_input(bev);
    if (c->state == LEAVING)
        (void)evbuffer_drain(in, evbuffer_get_length(in));
    else
        advance(c);
}

/* All that was to go out has gone. */
static void on_written(struct bufferevent *bev, void *ctx)
{
    struct http_call *c = ctx;
    (void)bev;
    if (c->state == STREAMING)
        enter(c, STREAMING, HTTP_ANSWER_MS);
    if (c->state != ANSWERING)
        return;
    http_head_done(&c->head);
    c->head = (struct http_head){0};
    if (c->close) {
        leave(c);
        return;
    }
    enter(c, IDLE, HTTP_IDLE_MS);
    advance(c);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        drop(ctx);
}

/* --- the server --------------------------------------------------------------------------- */

/* One that waits for its next request, the longest waiting first. */
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
        drop(idle);
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
    /* No more is taken in than a request may have. */
    bufferevent_setwatermark(c->bev, EV_READ, 0, HTTP_HEAD_MAX + HTTP_BODY_MAX);
    (void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    enter(c, IDLE, HTTP_REQUEST_MS); /* who connects has something to ask */
    c->next = server->calls;
    server->calls = c;
    server->n++;
}

static bool is_overdue(const struct http_call *c, int64_t now)
{
    return now > c->deadline && (c->state != STREAMING || http_stream_unsent(c));
}

/* Who is told that a client has gone may answer others: the list is looked through anew. */
static void on_sweep(void *ctx)
{
    struct http_server *server = ctx;
    int64_t now = clock_mono();
    for (struct http_call *c = server->calls; c;) {
        if (!is_overdue(c, now)) {
            c = c->next;
        } else if (c->state == READING) {
            refuse(c, 408);
            c = c->next;
        } else {
            drop(c);
            c = server->calls;
        }
    }
    watch_again(server->delete_later, SWEEP_MS);
}

/* Descriptors run out, for example: those who wait are taken when there are some again. */
static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
    struct http_server *server = ctx;
    struct http_call *idle = find_idle(server);
    (void)listener;
    if (idle)
        drop(idle);
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
    server->delete_later = loop_timer(loop, SWEEP_MS, on_sweep, server);
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
        finish(c);
    }
    if (server->listener)
        evconnlistener_free(server->listener);
    watch_free(server->delete_later);
    free(server->headers);
    free(server);
}
