/*
 * struct http_server: HTTP/1.1 on the loopback, on the loop (sys/proc/loop.h). It bounds what a
 * client can take: the bytes of a request, the time until one has come whole, the time until an
 * answer is read, and the number of connections; whoever exceeds one of these is dropped. One that
 * has nothing to do makes room for one that comes.
 *
 * (evhttp of libevent 2.1 bounds neither the connections nor the whole time of a request.)
 */
#ifndef SYS_HTTP_SERVER_H
#define SYS_HTTP_SERVER_H

#include "base/err.h"
#include "sys/http/request.h"
#include "sys/proc/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_MAX = 32 << 10, /* browsers send the cookies of all that is on this machine */
    HTTP_BODY_MAX = 16 << 10,
    HTTP_CONNECTIONS_MAX = 64,
    HTTP_REQUEST_MS = 5000, /* from the first byte to the last */
    HTTP_IDLE_MS = 60000,
    HTTP_ANSWER_MS = 60000, /* until all of it is read; of a stream, until nothing waits */
};

struct http_server;
struct http_call; /* one request, until it is answered */

typedef void http_call_fn(void *ctx, struct http_call *call);

/* Listens on 127.0.0.1, on any free port where that is 0. `fn` is called for each request, and has
 * to answer it, then or later. `headers` are lines that each answer has. */
int http_server_open(struct http_server **ret, struct loop *loop, uint16_t port,
                     const char *headers, http_call_fn *fn, void *ctx, struct err *err);
uint16_t http_server_port(const struct http_server *server);

/* Calls that were not answered are gone with it. */
void http_server_close(struct http_server *server);

const struct http_head *http_call_head(const struct http_call *call);

/* Where the client has gone before the answer was complete, fn is told, and the call is gone. */
void http_call_on_gone(struct http_call *call, http_call_fn *fn, void *ctx);

/* Answers; the call is gone with that. `more` are header lines of this answer, or NULL. */
struct http_answer {
    int status;
    const char *type, *more;
    const char *body; /* NULL: none */
    size_t len;
};
void http_answer(struct http_call *call, const struct http_answer *answer);

/* An answer without an end: what is sent goes out as it comes, until the client leaves or
 * http_stream_end(). */
void http_stream(struct http_call *call, const char *type);
void http_stream_send(struct http_call *call, const char *s, size_t len);
size_t http_stream_unsent(const struct http_call *call); /* bytes that the client has not taken */
void http_stream_end(struct http_call *call);

#endif
