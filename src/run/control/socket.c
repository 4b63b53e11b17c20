#include "run/control/socket.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "run/control/requests.h"
#include "run/run_private.h"
#include "sys/clock.h"
#include "sys/guard/peer.h"
#include "sys/own_fd.h"
#include "sys/proc/socket.h"

#include <string.h>
#include <unistd.h>

enum { GUESTS_MAX = 16, PATIENCE_MS = 5000, STEP = 4096, ACCEPT_MAX = 32 };

/* Someone who talks with us. */
struct guest {
    struct listener *listener;
    int fd;
    struct watch *read, *timer;
    struct buf line; /* as far as it has come */
    int64_t since;   /* it came, or had its last answer */
};

struct listener {
    struct run *run;
    int fd;
    struct watch *watch;
    VEC(struct guest *) guests;
};

static void guest_free(struct guest *g)
{
    watch_free(g->read);
    watch_free(g->timer);
    own_close(&g->fd);
    buf_done(&g->line);
    free(g);
}

static void leave(struct guest *g)
{
    struct listener *l = g->listener;
    size_t kept = 0;
    for (size_t i = 0; i < l->guests.n; i++) {
        if (l->guests.v[i] != g)
            l->guests.v[kept++] = l->guests.v[i];
    }
    l->guests.n = kept;
    guest_free(g);
}

static void on_silence(void *ctx)
{
    leave(ctx);
}

/* False where nobody takes the answer. */
static bool answer(struct guest *g, const char *line, size_t len)
{
    struct arena asked = {0}, said = {0};
    autobuf struct buf out = BUF_INIT;
    const struct node *request = doc_read_line(&asked, line, len);
    if (request)
        doc_write_line(&out, control_act(g->listener->run, request, &said));
    else
        buf_addstr(&out, "{\"ok\":false,\"text\":\"this is not a request\"}");
    buf_addch(&out, '\n');
    arena_done(&asked);
    arena_done(&said);
    return socket_send(g->fd, out.s, out.len);
}

/* The requests that are there as a whole. Only such a one gives the guest more time. */
static bool saidall(struct guest *g)
{
    for (char *lf; (lf = memchr(g->line.s, '\n', g->line.len));) {
        size_t len = (size_t)(lf - g->line.s);
        autofree char *line = mem_dup(g->line.s, len);
        size_t rest = g->line.len - len - 1;
        memmove(g->line.s, lf + 1, rest);
        buf_cut(&g->line, rest);
        if (!answer(g, line, len))
            return false;
        g->since = clock_mono();
        watch_again(g->timer, PATIENCE_MS);
    }
    return g->line.len <= LISTENER_LINE_MAX;
}

static void on_words(void *ctx)
{
    struct guest *g = ctx;
    bool here = socket_take(g->fd, STEP, &g->line);
    if (!saidall(g) || !here)
        leave(g);
}

static void make_room(struct listener *l)
{
    struct guest *oldest = l->guests.v[0];
    for (size_t i = 1; i < l->guests.n; i++) {
        if (l->guests.v[i]->since < oldest->since)
            oldest = l->guests.v[i];
    }
    leave(oldest);
}

/* What it has sent already is answered at once: nobody can push it out before that. */
static void welcome(struct listener *l, int fd)
{
    if (l->guests.n == GUESTS_MAX)
        make_room(l);
    struct guest *g = mem_alloc(sizeof(*g));
    *g = (struct guest){.listener = l, .fd = fd, .line = BUF_INIT, .since = clock_mono()};
    g->read = loop_readable(l->run->loop, fd, on_words, g);
    g->timer = loop_timer(l->run->loop, PATIENCE_MS, on_silence, g);
    vec_push(&l->guests, g);
    on_words(g);
}

/* The task whose guard the process runs below, or -1: of another run, or it has ended. */
static int64_t find_task(const struct run *run, const struct peer *peer)
{
    for (size_t t = 0; t < run->pf->plan.task_count; t++) {
        const struct attempt *job = run->tasks[t].job;
        for (size_t i = peer->line.n; job && job->process.guarded && i-- > 0;) {
            if (peer->line.v[i] == job->process.pid)
                return (int64_t)t;
        }
    }
    return -1;
}

static void tell_once(struct run *run, int64_t task)
{
    struct err err = {0};
    bool *told = task < 0 ? &run->steered_from_afar : &run->tasks[task].steered;
    if (*told)
        return;
    *told = true;
    (void)err_set(&err, ERR_INPUT,
                  task < 0 ? "an agent of another run tried to steer the run, and was refused"
                           : "its agent, or a command of its, tried to steer the run, and was "
                             "refused");
    record_error(run, task, &err);
}

static void refuse(struct run *run, const struct peer *peer, int fd)
{
    struct arena a = {0};
    autobuf struct buf out = BUF_INIT, why = BUF_INIT;
    int64_t task = peer->place == PEER_GUARDED ? find_task(run, peer) : -1;
    struct node *said = node_new_map(&a);
    if (peer->place == PEER_GONE)
        buf_addstr(&why, "the process that asks has ended");
    else if (task < 0)
        buf_addstr(&why,
                   "this program runs inside a task of another run: agents do not steer runs");
    else
        buf_addf(&why, "this program runs inside the task '%s': agents do not steer runs",
                 run->pf->plan.tasks[task].id);
    node_put_bool(&a, said, "ok", false);
    node_put_string(&a, said, "text", why.s);
    doc_write_line(&out, said);
    buf_addch(&out, '\n');
    (void)socket_send(fd, out.s, out.len); /* one that does not listen is refused as well */
    arena_done(&a);
    if (peer->place == PEER_GUARDED)
        tell_once(run, task);
}

static void on_guest(void *ctx)
{
    struct listener *l = ctx;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        autoclose int fd = socket_accept(l->fd);
        if (fd < 0)
            return;
        autopeer struct peer peer = PEER_INIT;
        peer_look(fd, &peer);
        if (peer.place == PEER_OUTSIDE)
            welcome(l, steal_fd(&fd));
        else
            refuse(l->run, &peer, fd);
    }
}

struct listener *control_socket_open(struct run *run)
{
    struct err err = {0};
    int fd;
    if (socket_listen(run->dir, LISTENER_SOCKET, &fd, &err)) {
        record_error(run, -1, &err);
        return NULL;
    }
    struct listener *l = mem_alloc(sizeof(*l));
    *l = (struct listener){.run = run, .fd = fd};
    l->watch = loop_readable(run->loop, fd, on_guest, l);
    return l;
}

void control_socket_close(struct listener *l)
{
    if (!l)
        return;
    autofree char *path = mem_printf("%s/" LISTENER_SOCKET, l->run->dir);
    for (size_t i = 0; i < l->guests.n; i++)
        guest_free(l->guests.v[i]);
    vec_done(&l->guests);
    watch_free(l->watch);
    own_close(&l->fd);
    (void)unlink(path); /* one that is left says nothing: nobody listens */
    free(l);
}
