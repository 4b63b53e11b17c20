#include "view/serve/serve_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"

#include <string.h>
#include <sys/stat.h>

/* Allow only our own files: no inline code, no HTML from text, no frames, no caching. */
static const char headers[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

void serve_answer_json(struct http_call *call, int status, const struct buf *json)
{
    http_answer(
        call, &(struct http_answer){
                  .status = status, .type = "application/json", .body = json->s, .len = json->len});
}

void serve_answer_node(struct http_call *call, const struct node *root)
{
    autobuf struct buf json = BUF_INIT;
    doc_write_line(&json, root);
    serve_answer_json(call, 200, &json);
}

void serve_answer_error(struct http_call *call, int status, const char *message)
{
    autoarena struct arena a = {0};
    autobuf struct buf json = BUF_INIT;
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "error", message);
    doc_write_line(&json, map);
    serve_answer_json(call, status, &json);
}

typedef void serve_fn(struct serve_call *c);

/* Paths below /api; ":run" and ":task" match a run and a task of the store. */
static const struct route {
    const char *parts[5];
    serve_fn *fn;
    bool post; /* it changes something */
} routes[] = {
    {{"start"}, serve_start},
    {{"runs"}, serve_runs},
    {{"runs", ":run"}, serve_run},
    {{"runs", ":run", "plan"}, serve_plan},
    {{"runs", ":run", "events"}, serve_events},
    {{"runs", ":run", "live"}, serve_live},
    {{"runs", ":run", "cost"}, serve_cost},
    {{"runs", ":run", "meets"}, serve_meets},
    {{"runs", ":run", "tasks", ":task", "log"}, serve_log},
    {{"runs", ":run", "tasks", ":task", "search"}, serve_search},
    {{"runs", ":run", "tasks", ":task", "diff"}, serve_diff},
    {{"runs", ":run", "steer"}, serve_steer, true},
};

static const struct route *find_route(const struct http_head *head)
{
    bool post = strcmp(head->method, "POST") == 0;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        size_t n = 0;
        if (routes[i].post != post)
            continue;
        for (; n < 5 && routes[i].parts[n] && n + 1 < head->part_count; n++) {
            const char *part = routes[i].parts[n];
            if (*part != ':' && strcmp(part, head->parts[n + 1]) != 0)
                break;
        }
        if (n + 1 == head->part_count && (n == 5 || !routes[i].parts[n]))
            return &routes[i];
    }
    return NULL;
}

/* Finds the run and the task that the path names; on false the request has been answered. */
static bool find_rows(struct serve_call *c, const struct route *route)
{
    struct err err = {0};
    struct store *store = c->serve->store;
    c->run = route->parts[1] ? c->head->parts[2] : NULL;
    const char *task = route->parts[3] ? c->head->parts[4] : NULL;
    if (c->run && store_find_run(store, c->run, &c->arena, &c->row, &err))
        serve_answer_error(c->http, 500, err.msg);
    else if (c->run && !c->row.id)
        serve_answer_error(c->http, 404, "no such run");
    else if (task && store_find_task(store, c->run, task, &c->arena, &c->task, &err))
        serve_answer_error(c->http, 500, err.msg);
    else if (task && !c->task.id)
        serve_answer_error(c->http, 404, "no such task");
    else
        return true;
    return false;
}

int serve_open_store(struct serve *serve, struct err *err)
{
    autofree char *path = mem_printf("%s/state.db", serve->opts.state_dir);
    struct stat st;
    if (stat(path, &st) < 0)
        return err_sys(err, "'%s'", path);
    if (serve->store && st.st_ino == serve->store_file)
        return 0;
    store_close(steal_ptr(serve->store));
    serve->store_file = st.st_ino;
    return store_open(&serve->store, serve->opts.state_dir, false, err);
}

static void answer_data(struct serve *serve, struct http_call *call)
{
    struct serve_call c = {.serve = serve, .http = call, .head = http_call_head(call)};
    const struct route *route = find_route(c.head);
    struct err err = {0};
    if (!route)
        serve_answer_error(call, 404, "not found");
    else if (serve_open_store(serve, &err))
        serve_answer_error(call, 500, err.msg);
    else if (find_rows(&c, route))
        route->fn(&c);
    arena_done(&c.arena);
}

static bool is_path(const struct http_head *head, const char *first, const char *second)
{
    return head->part_count == 2 && strcmp(head->parts[0], first) == 0 &&
           strcmp(head->parts[1], second) == 0;
}

static void answer_get(struct serve *serve, struct http_call *call)
{
    const struct http_head *head = http_call_head(call);
    if (head->part_count && strcmp(head->parts[0], "api") == 0) {
        if (serve_gate_data(serve, call))
            answer_data(serve, call);
        return;
    }
    const char *name = head->part_count ? head->parts[0] : "index.html";
    if (head->part_count > 1 || !serve_file(call, name))
        serve_answer_error(call, 404, "not found");
}

/* Every POST needs the token; the cookie is not enough. */
static void answer_post(struct serve *serve, struct http_call *call)
{
    const struct http_head *head = http_call_head(call);
    bool session = is_path(head, "api", "session");
    if (!serve_gate_token(serve, call))
        return;
    if (session)
        serve_gate_session(serve, call);
    else if (serve->opts.read_only)
        serve_answer_error(call, 403, "this page is read-only");
    else if (head->part_count && strcmp(head->parts[0], "api") == 0)
        answer_data(serve, call);
    else
        serve_answer_error(call, 404, "not found");
}

static void on_call(void *ctx, struct http_call *call)
{
    struct serve *serve = ctx;
    const char *method = http_call_head(call)->method;
    if (!serve_gate_host(serve, call))
        return;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        answer_get(serve, call);
    else if (strcmp(method, "POST") == 0)
        answer_post(serve, call);
    else
        serve_answer_error(call, 405, "use GET, HEAD or POST");
}

/* Another program may use the port of the last server by now. */
static int listen_on(struct serve *serve, struct err *err)
{
    uint16_t last = serve->key.port;
    if (!serve->opts.port && last &&
        http_server_open(&serve->http, serve->loop, last, headers, on_call, serve, NULL) == 0)
        return 0;
    return http_server_open(&serve->http, serve->loop, serve->opts.port, headers, on_call, serve,
                            err);
}

static int open_all(struct serve *serve, struct err *err)
{
    const char *dir = serve->opts.state_dir;
    if (serve_open_store(serve, err) || serve_token_load(&serve->key, dir, err) ||
        listen_on(serve, err) ||
        serve_token_settle(&serve->key, http_server_port(serve->http), err))
        return -1;
    serve->url = mem_printf("http://127.0.0.1:%u/#token=%s", serve->key.port, serve->key.token);
    /* If it cannot be saved, it is valid for this server only. */
    (void)serve_token_save(&serve->key, dir, NULL);
    return 0;
}

int serve_open(struct serve **ret, struct loop *loop, const struct serve_options *opts,
               struct err *err)
{
    struct serve *serve = mem_alloc(sizeof(*serve));
    serve->loop = loop;
    serve->opts = *opts;
    if (open_all(serve, err)) {
        serve_close(serve);
        return -1;
    }
    *ret = serve;
    return 0;
}

void serve_close(struct serve *serve)
{
    if (!serve)
        return;
    serve_git_close(serve);
    http_server_close(serve->http);
    serve_live_close(serve);
    store_close(serve->store);
    free(serve->url);
    free(serve);
}

const char *serve_url(const struct serve *serve)
{
    return serve->url;
}
