#include "run/control/socket.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "run/attempt/attempt.h"
#include "run/control/requests.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/guard/peer.h"
#include "sys/own_fd.h"
#include "sys/proc/socket.h"

#include <string.h>
#include <unistd.h>

enum { CLIENTS_MAX = 16, PATIENCE_MS = 5000, STEP = 4096, ACCEPT_MAX = 32 };

/* A process that is connected to us. */
struct client {
    struct listener *listener;
    int fd;
    struct watch *read, *timer;
    struct buf line; /* received so far */
    int64_t since;   /* when it connected or got its last answer */
};

struct listener {
    struct run *run;
    int fd;
    struct watch *watch;
    VEC(struct client *) clients;
};

static void client_free(struct client *c)
{
    watch_free(c->read);
    watch_free(c->timer);
    own_close(&c->fd);
    buf_done(&c->line);
    free(c);
}

static void drop_client(struct client *c)
{
    struct listener *l = c->listener;
    size_t kept = 0;
    for (size_t i = 0; i < l->clients.n; i++) {
        if (l->clients.v[i] != c)
            l->clients.v[kept++] = l->clients.v[i];
    }
    l->clients.n = kept;
    client_free(c);
}

static void on_timeout(void *ctx)
{
    drop_client(ctx);
}

/* Returns false if the client does not read the answer. */
static bool answer_line(struct client *c, const char *line, size_t len)
{
    struct arena request_arena = {0}, answer_arena = {0};
    autobuf struct buf out = BUF_INIT;
    const struct node *request = doc_read_line(&request_arena, line, len);
    if (request)
        doc_write_line(&out, control_act(c->listener->run, request, &answer_arena));
    else
        buf_addstr(&out, "{\"ok\":false,\"text\":\"this is not a request\"}");
    buf_addch(&out, '\n');
    arena_done(&request_arena);
    arena_done(&answer_arena);
    return socket_send(c->fd, out.s, out.len);
}

/* Answers all complete requests. Only a complete one gives the client more time. */
static bool answer_all(struct client *c)
{
    for (char *lf; (lf = memchr(c->line.s, '\n', c->line.len));) {
        size_t len = (size_t)(lf - c->line.s);
        autofree char *line = mem_dup(c->line.s, len);
        size_t rest = c->line.len - len - 1;
        memmove(c->line.s, lf + 1, rest);
        buf_cut(&c->line, rest);
        if (!answer_line(c, line, len))
            return false;
        c->since = clock_mono();
        watch_again(c->timer, PATIENCE_MS);
    }
    return c->line.len <= LISTENER_LINE_MAX;
}

static void on_readable(void *ctx)
{
    struct client *c = ctx;
    bool here = socket_take(c->fd, STEP, &c->line);
    if (!answer_all(c) || !here)
        drop_client(c);
}

static void drop_oldest(struct listener *l)
{
    struct client *oldest = l->clients.v[0];
    for (size_t i = 1; i < l->clients.n; i++) {
        if (l->clients.v[i]->since < oldest->since)
            oldest = l->clients.v[i];
    }
    drop_client(oldest);
}

/* Answers at once what the client has already sent: no later client can displace it before that. */
static void accept_client(struct listener *l, int fd)
{
    if (l->clients.n == CLIENTS_MAX)
        drop_oldest(l);
    struct client *c = mem_alloc(sizeof(*c));
    *c = (struct client){.listener = l, .fd = fd, .line = BUF_INIT, .since = clock_mono()};
    c->read = loop_readable(l->run->loop, fd, on_readable, c);
    c->timer = loop_timer(l->run->loop, PATIENCE_MS, on_timeout, c);
    vec_push(&l->clients, c);
    on_readable(c);
}

/* Finds the task whose guard the process runs below. Returns -1 if it belongs to another run, or
 * if the task has ended. */
static int64_t find_task(const struct run *run, const struct peer *peer)
{
    for (size_t t = 0; t < run->pf->plan.task_count; t++) {
        const struct attempt *attempt = run->tasks[t].attempt;
        for (size_t i = peer->line.n; attempt && attempt->process.guarded && i-- > 0;) {
            if (peer->line.v[i] == attempt->process.pid)
                return (int64_t)t;
        }
    }
    return -1;
}

static void record_once(struct run *run, int64_t task)
{
    struct err err = {0};
    bool *told =
        task < 0 ? &run->notices.foreign_steering_recorded : &run->tasks[task].steering_recorded;
    if (*told)
        return;
    *told = true;
    (void)err_set(&err, ERR_INPUT,
                  task < 0 ? "an agent of another run tried to steer the run and was refused"
                           : "its agent, or a command of the agent, tried to steer the run and "
                             "was refused");
    record_error(run, task, &err);
}

static void refuse_peer(struct run *run, const struct peer *peer, int fd)
{
    struct arena a = {0};
    autobuf struct buf out = BUF_INIT, why = BUF_INIT;
    int64_t task = peer->place == PEER_GUARDED ? find_task(run, peer) : -1;
    struct node *reply = node_new_map(&a);
    if (peer->place == PEER_GONE)
        buf_addstr(&why, "the requesting process has ended");
    else if (task < 0)
        buf_addstr(&why,
                   "this program runs inside a task of another run: agents do not steer runs");
    else
        buf_addf(&why, "this program runs inside the task '%s': agents do not steer runs",
                 run->pf->plan.tasks[task].id);
    node_put_bool(&a, reply, "ok", false);
    node_put_string(&a, reply, "text", why.s);
    doc_write_line(&out, reply);
    buf_addch(&out, '\n');
    (void)socket_send(fd, out.s, out.len); /* refused even if it does not read this */
    arena_done(&a);
    if (peer->place == PEER_GUARDED)
        record_once(run, task);
}

static void on_connection(void *ctx)
{
    struct listener *l = ctx;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        autoclose int fd = socket_accept(l->fd);
        if (fd < 0)
            return;
        autopeer struct peer peer = PEER_INIT;
        peer_look(fd, &peer);
        if (peer.place == PEER_OUTSIDE)
            accept_client(l, steal_fd(&fd));
        else
            refuse_peer(l->run, &peer, fd);
    }
}

struct listener *control_socket_open(struct run *run)
{
    struct err err = {0};
    int fd;
    if (socket_listen(run->files.dir, LISTENER_SOCKET, &fd, &err)) {
        record_error(run, -1, &err);
        return NULL;
    }
    struct listener *l = mem_alloc(sizeof(*l));
    *l = (struct listener){.run = run, .fd = fd};
    l->watch = loop_readable(run->loop, fd, on_connection, l);
    return l;
}

void control_socket_close(struct listener *l)
{
    if (!l)
        return;
    autofree char *path = mem_printf("%s/" LISTENER_SOCKET, l->run->files.dir);
    for (size_t i = 0; i < l->clients.n; i++)
        client_free(l->clients.v[i]);
    vec_done(&l->clients);
    watch_free(l->watch);
    own_close(&l->fd);
    (void)unlink(path); /* a socket file that stays does no harm: nobody listens */
    free(l);
}
