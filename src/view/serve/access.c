/*
 * Access control. A foreign name in Host means that a web page points its own name at our address.
 * A foreign Origin means that another page sends the request.
 */
#include "view/serve/serve_private.h"

#include "base/mem.h"

#include <string.h>

#define TOKEN_HEADER "x-anabranch-token"

/* Any port: the user may have forwarded it from another machine. */
static bool is_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(host, names[i], len) != 0)
            continue;
        const char *port = host + len;
        if (!*port)
            return true;
        if (*port == ':' && port[1] && strlen(port + 1) <= 5 &&
            strspn(port + 1, "0123456789") == strlen(port + 1))
            return true;
    }
    return false;
}

static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, strlen(scheme)) == 0 &&
           strcmp(origin + strlen(scheme), host) == 0;
}

bool serve_gate_host(const struct serve *serve, struct http_call *call)
{
    const struct http_head *head = http_call_head(call);
    const char *host = http_header(head, "host"), *origin = http_header(head, "origin");
    const char *site = http_header(head, "sec-fetch-site");
    (void)serve;
    if (!is_loopback(host))
        serve_answer_error(call, 421, "this server answers only on 127.0.0.1");
    else if (origin && !is_own_origin(origin, host))
        serve_answer_error(call, 403, "request from another site refused");
    else if (site && strcmp(site, "cross-site") == 0 && head->part_count)
        serve_answer_error(call, 403, "request from another site refused");
    else
        return true;
    return false;
}

/* The name contains the port: browsers keep cookies per host, and several servers may run. */
static void add_cookie_name(const struct serve *serve, struct buf *out)
{
    buf_addf(out, "anabranch_%u", http_server_port(serve->http));
}

static bool has_cookie(const struct serve *serve, const char *cookies)
{
    autobuf struct buf wanted = BUF_INIT;
    add_cookie_name(serve, &wanted);
    buf_addf(&wanted, "=%s", serve->key.cookie);
    while (cookies) {
        cookies += strspn(cookies, " ");
        size_t len = strcspn(cookies, ";");
        autobuf struct buf one = BUF_INIT;
        buf_add(&one, cookies, len);
        if (serve_token_is(wanted.s, one.s))
            return true;
        cookies = cookies[len] ? cookies + len + 1 : NULL;
    }
    return false;
}

static bool has_token(const struct serve *serve, const struct http_head *head)
{
    const char *token = http_header(head, TOKEN_HEADER);
    return token && serve_token_is(serve->key.token, token);
}

bool serve_gate_data(const struct serve *serve, struct http_call *call)
{
    const struct http_head *head = http_call_head(call);
    if (has_token(serve, head) || has_cookie(serve, http_header(head, "cookie")))
        return true;
    serve_answer_error(call, 401, "open the address that 'anabranch serve' printed");
    return false;
}

bool serve_gate_token(const struct serve *serve, struct http_call *call)
{
    if (has_token(serve, http_call_head(call)))
        return true;
    serve_answer_error(call, 401, "the token is missing or wrong");
    return false;
}

void serve_gate_session(const struct serve *serve, struct http_call *call)
{
    autobuf struct buf more = BUF_INIT;
    buf_addstr(&more, "Set-Cookie: ");
    add_cookie_name(serve, &more);
    buf_addf(&more, "=%s; Path=/; HttpOnly; SameSite=Strict\r\n", serve->key.cookie);
    http_answer(call, &(struct http_answer){.status = 204, .more = more.s});
}
