/*
 * Passes requests of the page to a run, through the run's control socket (run/control/requests.h).
 * The parameters of the query are the members of the request:
 *
 *     POST /api/runs/RUN/steer?verb=stop&task=auth  ->  {"ok":true,"text":"'auth' is asked to ..."}
 *
 *     200  done                 409  the run refused     400  unknown verb or bad number
 *     404  the run has ended    503  the run does not answer
 *
 * A run answers within one turn of its loop. We wait for the answer and serve no other request
 * meanwhile; if the run hangs, we give up after PATIENCE_MS. The run may still carry out the
 * request later.
 */
#include "view/serve/serve_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "run/control/client.h"

#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 2000, WORKERS_MAX = 10000 };

/* Copies the parameters of a verb into the request; false if one is invalid. The run itself
 * reports missing ones. */
typedef bool put_fn(struct serve_call *c, struct node *request);

static void put_text(struct serve_call *c, struct node *request, const char *key)
{
    node_put_string(&c->arena, request, key, http_query(c->head, key));
}

static bool put_task(struct serve_call *c, struct node *request)
{
    put_text(c, request, "task");
    return true;
}

static bool put_retry(struct serve_call *c, struct node *request)
{
    const char *fresh = http_query(c->head, "fresh");
    node_put_bool(&c->arena, request, "fresh", fresh != NULL);
    return put_task(c, request) && (!fresh || strcmp(fresh, "1") == 0);
}

static bool put_say(struct serve_call *c, struct node *request)
{
    const char *text = http_query(c->head, "text");
    put_text(c, request, "text");
    return put_task(c, request) && text && text_valid(text, strlen(text)) == strlen(text);
}

/* Only "1" means yes, so that nobody stops a whole run by mistake. */
static bool put_stop(struct serve_call *c, struct node *request)
{
    const char *all = http_query(c->head, "all");
    if (!all)
        return put_task(c, request);
    node_put_bool(&c->arena, request, "all", true);
    return strcmp(all, "1") == 0 && !http_query(c->head, "task");
}

static bool put_nothing(struct serve_call *c, struct node *request)
{
    (void)c;
    (void)request;
    return true;
}

/* Needs either `n`, or `by`, which may be negative. */
static bool put_workers(struct serve_call *c, struct node *request)
{
    const char *n = http_query(c->head, "n"), *by = http_query(c->head, "by");
    if (!n == !by)
        return false;
    const char *word = n ? n : by;
    bool fewer = by && *by == '-';
    int64_t count = text_parse_count(word + fewer, strlen(word + fewer));
    node_put_int(&c->arena, request, n ? "n" : "by", fewer ? -count : count);
    return count > 0 && count <= WORKERS_MAX;
}

static bool put_usd(struct serve_call *c, struct node *request, const char *word)
{
    char *end;
    double usd = strtod(word, &end);
    node_put_real(&c->arena, request, "usd", usd);
    return strspn(word, "0123456789.") == strlen(word) && end > word && !*end && usd > 0 &&
           usd <= 1e9;
}

static bool put_budget(struct serve_call *c, struct node *request)
{
    const char *usd = http_query(c->head, "usd"), *tokens = http_query(c->head, "tokens");
    put_text(c, request, "task");
    if (!usd && !tokens)
        return false;
    if (usd && !put_usd(c, request, usd))
        return false;
    int64_t count = tokens ? text_parse_count(tokens, strlen(tokens)) : 0;
    if (tokens)
        node_put_int(&c->arena, request, "tokens", count);
    return !tokens || count > 0;
}

static const struct {
    const char *verb;
    put_fn *put;
} verbs[] = {
    {"stop", put_stop},        {"skip", put_task},       {"pause", put_nothing},
    {"continue", put_nothing}, {"workers", put_workers}, {"budget", put_budget},
    {"retry", put_retry},      {"say", put_say},
};

static put_fn *find_verb(const char *verb)
{
    for (size_t i = 0; verb && i < ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].verb, verb) == 0)
            return verbs[i].put;
    }
    return NULL;
}

static void answer_request(struct serve_call *c, bool done, const char *text)
{
    autobuf struct buf json = BUF_INIT;
    struct node *map = node_new_map(&c->arena);
    node_put_bool(&c->arena, map, "ok", done);
    node_put_string(&c->arena, map, "text", text);
    doc_write_line(&json, map);
    serve_answer_json(c->http, done ? 200 : 409, &json);
}

void serve_steer(struct serve_call *c)
{
    autofree char *dir = run_path(c->serve->opts.state_dir, c->run);
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    bool done = false;
    struct node *request = node_new_map(&c->arena);
    put_fn *put = find_verb(http_query(c->head, "verb"));
    put_text(c, request, "verb");
    if (!put || !put(c, request))
        serve_answer_error(c->http, 400, "unknown verb or invalid parameter");
    else if (control_call_within(dir, request, PATIENCE_MS, &done, &text, &err))
        serve_answer_error(c->http, err.code == ERR_INPUT ? 404 : 503, err.msg);
    else
        answer_request(c, done, text.s);
}
