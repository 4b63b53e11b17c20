#include "run/listener.h"

#include "base/mem.h"
#include "base/vec.h"
#include "data/doc.h"
#include "run/control.h"
#include "run/run_private.h"
#include "sys/socket.h"

#include <string.h>
#include <unistd.h>

enum { GUESTS_MAX = 16, PATIENCE_MS = 5000, STEP = 4096 };

/* Someone who talks with us. */
struct guest {
    struct listener *listener;
    int fd;
    struct watch *read, *timer;
    struct buf line; /* as far as it has come */
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

/* The requests that are there as a whole. */
static bool answer_all(struct guest *g)
{
    for (char *lf; (lf = memchr(g->line.s, '\n', g->line.len));) {
        size_t len = (size_t)(lf - g->line.s);
        autofree char *line = mem_dup(g->line.s, len);
        size_t rest = g->line.len - len - 1;
        memmove(g->line.s, lf + 1, rest);
        buf_cut(&g->line, rest);
        if (!answer(g, line, len))
            return false;
    }
    return g->line.len <= LISTENER_LINE_MAX;
}

static void on_words(void *ctx)
{
    struct guest *g = ctx;
    bool here = socket_take(g->fd, STEP, &g->line);
    watch_again(g->timer, PATIENCE_MS);
    if (!answer_all(g) || !here)
        leave(g);
}

static void on_guest(void *ctx)
{
    struct listener *l = ctx;
    int fd = socket_accept(l->fd);
    if (fd >= 0 && l->guests.n == GUESTS_MAX)
        own_close(&fd);
    if (fd < 0)
        return;
    struct guest *g = mem_alloc(sizeof(*g));
    *g = (struct guest){.listener = l, .fd = fd, .line = BUF_INIT};
    g->read = loop_readable(l->run->loop, fd, on_words, g);
    g->timer = loop_timer(l->run->loop, PATIENCE_MS, on_silence, g);
    vec_push(&l->guests, g);
}

struct listener *listener_open(struct run *run)
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

void listener_close(struct listener *l)
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
