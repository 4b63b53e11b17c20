#include "sys/proc/loop_private.h"

#include "base/mem.h"
#include "sys/guard/proc_table.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD_MS = 20, HELD_MAX = 50 };

struct loop {
    struct event_base *base;
    struct watch *children; /* children without a pidfd: we learn of their end by SIGCHLD */
    struct watch *sigchld;
};

struct watch {
    struct loop *loop;
    struct event *ev;
    watch_fn *fn;
    child_fn *on_child;
    void *ctx;
    pid_t pid;
    int pidfd;          /* or -1 */
    int held;           /* how often the child had ended but a tracer still held it */
    struct watch *next; /* in loop->children */
};

struct loop *loop_new(void)
{
    struct loop *loop = mem_alloc(sizeof(*loop));
    loop->base = event_base_new();
    if (!loop->base)
        abort();
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    watch_free(loop->sigchld);
    event_base_free(loop->base);
    free(loop);
}

struct event_base *loop_events(const struct loop *loop)
{
    return loop->base;
}

int loop_run(struct loop *loop, struct err *err)
{
    return event_base_dispatch(loop->base) < 0 ? err_sys(err, "event loop") : 0;
}

void loop_stop(struct loop *loop)
{
    /* Not loopbreak: that would drop a signal that came already. */
    (void)event_base_loopexit(loop->base, NULL);
}

static void call_watch(evutil_socket_t fd, short what, void *arg)
{
    struct watch *w = arg;
    (void)fd;
    (void)what;
    w->fn(w->ctx);
}

static struct watch *watch_new(struct loop *loop, watch_fn *fn, void *ctx)
{
    struct watch *w = mem_alloc(sizeof(*w));
    w->loop = loop;
    w->fn = fn;
    w->ctx = ctx;
    w->pidfd = -1;
    return w;
}

static void watch_start(struct watch *w, int fd, short what, event_callback_fn call,
                        const struct timeval *after)
{
    w->ev = event_new(w->loop->base, fd, what, call, w);
    if (!w->ev || event_add(w->ev, after) < 0)
        abort();
}

static struct timeval to_timeval(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

struct watch *loop_timer(struct loop *loop, int64_t ms, watch_fn *fn, void *ctx)
{
    struct watch *w = watch_new(loop, fn, ctx);
    struct timeval after = to_timeval(ms);
    watch_start(w, -1, 0, call_watch, &after);
    return w;
}

struct watch *loop_signal(struct loop *loop, int signal, watch_fn *fn, void *ctx)
{
    struct watch *w = watch_new(loop, fn, ctx);
    watch_start(w, signal, EV_SIGNAL | EV_PERSIST, call_watch, NULL);
    return w;
}

struct watch *loop_readable(struct loop *loop, int fd, watch_fn *fn, void *ctx)
{
    struct watch *w = watch_new(loop, fn, ctx);
    watch_start(w, fd, EV_READ | EV_PERSIST, call_watch, NULL);
    return w;
}

void watch_again(struct watch *w, int64_t ms)
{
    struct timeval after = to_timeval(ms);
    if (event_add(w->ev, &after) < 0)
        abort();
}

/* Reaps the child if it has ended. The callback may free the watch. */
static bool reap_child(struct watch *w)
{
    int status;
    pid_t got = waitpid(w->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    if (got < 0)
        status = 127 << 8; /* someone else reaped it, so its exit code is unknown */
    w->pid = 0;
    if (w->ev)
        (void)event_del(w->ev);
    w->on_child(w->ctx, status);
    return true;
}

/* If a debugger traces the child, the debugger learns of the end first and then lets go. We end a
 * debugger that does not let go. */
static void on_held(evutil_socket_t fd, short what, void *arg)
{
    struct watch *w = arg;
    (void)fd;
    (void)what;
    if (!reap_child(w) && ++w->held > HELD_MAX)
        proc_table_end_tracer(w->pid);
}

static void on_pidfd(evutil_socket_t fd, short what, void *arg)
{
    struct timeval after = to_timeval(HELD_MS);
    struct watch *w = arg;
    (void)fd;
    (void)what;
    if (reap_child(w))
        return;
    event_free(w->ev);
    watch_start(w, -1, EV_PERSIST, on_held, &after);
}

/* Callbacks may add and free watches, so we restart from the head of the list after each. */
static void on_sigchld(void *ctx)
{
    struct loop *loop = ctx;
    for (struct watch *w = loop->children; w;) {
        w = w->pid && reap_child(w) ? loop->children : w->next;
    }
}

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

struct watch *loop_child(struct loop *loop, pid_t pid, child_fn *fn, void *ctx)
{
    struct watch *w = watch_new(loop, NULL, ctx);
    w->on_child = fn;
    w->pid = pid;
    w->pidfd = open_pidfd(pid);
    if (w->pidfd >= 0) {
        watch_start(w, w->pidfd, EV_READ | EV_PERSIST, on_pidfd, NULL);
        return w;
    }
    if (!loop->sigchld)
        loop->sigchld = loop_signal(loop, SIGCHLD, on_sigchld, loop);
    w->next = loop->children;
    loop->children = w;
    (void)kill(getpid(), SIGCHLD); /* it may have ended before we watched it */
    return w;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    for (struct watch **at = &w->loop->children; *at; at = &(*at)->next) {
        if (*at == w) {
            *at = w->next;
            break;
        }
    }
    if (w->ev)
        event_free(w->ev);
    if (w->pidfd >= 0)
        (void)close(w->pidfd);
    free(w);
}
