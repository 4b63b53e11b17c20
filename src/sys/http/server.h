/*
 * struct http_server: an HTTP/1.1 server on the loopback interface, run by the loop
 * (sys/proc/loop.h). It limits each client: the size of a request, the time until a request is
 * complete, the time until the client has read the answer, and the number of connections. We drop a
 * client that exceeds a limit. If there are too many connections, a new one replaces an idle one.
 *
 * (evhttp of libevent 2.1 limits neither the number of connections nor the total time of a
 * request.)
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
    HTTP_HEAD_MAX = 32 << 10, /* browsers send the cookies of every server on this machine */
    HTTP_BODY_MAX = 16 << 10,
    HTTP_CONNECTIONS_MAX = 64,
    HTTP_REQUEST_MS = 5000, /* from the first byte to the last */
    HTTP_IDLE_MS = 60000,
    /* Until the client has read the whole answer; for a stream, until nothing is unsent. */
    HTTP_ANSWER_MS = 60000,
};

struct http_server;
struct http_call; /* one request, until it is answered */

typedef void http_call_fn(void *ctx, struct http_call *call);

/* Listens on 127.0.0.1, on any free port if `port` is 0. Calls `fn` for each request, and `fn` must
 * answer it at once or later. Adds the lines `headers` to each answer. */
int http_server_open(struct http_server **ret, struct loop *loop, uint16_t port,
                     const char *headers, http_call_fn *fn, void *ctx, struct err *err);
uint16_t http_server_port(const struct http_server *server);

/* Drops calls without an answer. */
void http_server_close(struct http_server *server);

const struct http_head *http_call_head(const struct http_call *call);

/* If the client leaves before the answer is complete, we call fn and drop the call. */
void http_call_on_gone(struct http_call *call, http_call_fn *fn, void *ctx);

/* Answers and ends the call. `more` has extra header lines, or is NULL. */
struct http_answer {
    int status;
    const char *type, *more;
    const char *body; /* NULL: none */
    size_t len;
};
void http_answer(struct http_call *call, const struct http_answer *answer);

/* Begins an answer without an end. http_stream_send() sends data at once, until the client leaves.
 */
void http_stream(struct http_call *call, const char *type);
void http_stream_send(struct http_call *call, const char *s, size_t len);
size_t http_stream_unsent(const struct http_call *call); /* bytes still in our buffer */

#endif
