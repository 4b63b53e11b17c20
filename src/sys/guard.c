#include "sys/guard.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/strv.h"
#include "base/text.h"
#include "sys/guard_file.h"
#include "sys/procs.h"
#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { SWEEP_GRACE = 1000, SWEEP_PAUSE = 20, SWEPT_MAX = 20 };

struct guard {
    const struct guard_options *opts;
    pid_t child;
    int status;       /* of the child, as waitpid() gives it */
    bool ended;       /* the child has */
    bool lifeline;    /* is open */
    int64_t deadline; /* when the child is killed, 0: not at all */
    struct strv swept;
};

static void on_signal(int signal)
{
    (void)signal; /* it only has to interrupt ppoll() */
}

/* Signals arrive only while we wait; those that end others are for the engine to pass on. */
static int hold_signals(sigset_t *ret_waiting, struct err *err)
{
    struct sigaction act = {.sa_handler = on_signal};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &held, ret_waiting) < 0 || sigaction(SIGCHLD, &act, NULL) < 0)
        return err_sys(err, "hold signals");
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        if (sigaction(ignored[i], &ignore, NULL) < 0)
            return err_sys(err, "hold signals");
    }
    return 0;
}

/* Orphans of the tree become our children, so that none is lost. */
static int adopt_orphans(struct err *err)
{
#ifdef __linux__
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(err, "become subreaper");
#endif
    (void)err;
    return 0;
}

/* False where we have no children left. As orphans become ours, there is then nothing left at all.
 */
static bool reap(struct guard *g)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == g->child) {
            g->ended = true;
            g->status = status;
        }
    }
    return pid == 0 || errno != ECHILD;
}

static void signal_tree(int signal)
{
    struct procs below = {0};
    procs_below(&below, getpid());
    for (size_t i = 0; i < below.all.n; i++)
        (void)procs_signal(&below.all.v[i], signal);
    vec_done(&below.all);
}

static void stop_child(struct guard *g)
{
    if (g->ended || g->deadline)
        return;
    g->deadline = clock_mono() + g->opts->grace;
    (void)kill(g->child, g->opts->stop_signal);
}

static void read_orders(struct guard *g)
{
    char orders[16];
    ssize_t n = read(GUARD_LIFELINE, orders, sizeof(orders));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        g->lifeline = false;
    if (n > 0 && memchr(orders, GUARD_KILL, (size_t)n))
        signal_tree(SIGKILL);
    else
        stop_child(g);
}

static void watch_child(struct guard *g, const sigset_t *waiting)
{
    while ((void)reap(g), !g->ended) {
        struct pollfd fd = {.fd = g->lifeline ? GUARD_LIFELINE : -1, .events = POLLIN};
        int64_t left = g->deadline - clock_mono();
        struct timespec wait = {.tv_sec = left > 0 ? left / 1000 : 0,
                                .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
        int n = ppoll(&fd, 1, g->deadline ? &wait : NULL, waiting);
        if (n > 0)
            read_orders(g);
        if (g->deadline && clock_mono() >= g->deadline)
            signal_tree(SIGKILL);
    }
}

/* The names of what the command left behind, once. */
static bool note_leftovers(struct guard *g)
{
    struct procs below = {0};
    procs_below(&below, getpid());
    bool first = g->swept.n == 0;
    for (size_t i = 0; first && i < below.all.n && i < SWEPT_MAX; i++) {
        autobuf struct buf command = BUF_INIT;
        procs_command(below.all.v[i].pid, &command);
        strv_push(&g->swept, command.s);
    }
    bool some = below.all.n > 0;
    vec_done(&below.all);
    return some;
}

static void sweep(struct guard *g)
{
    int64_t end = clock_mono() + SWEEP_GRACE;
    for (bool asked = false;; asked = true) {
        if (!reap(g) || !note_leftovers(g))
            return;
        if (!asked)
            signal_tree(SIGTERM);
        else if (clock_mono() >= end)
            signal_tree(SIGKILL);
        struct timespec pause = {.tv_nsec = SWEEP_PAUSE * 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

static void quote(struct buf *out, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    text_harmless(&safe, s, strlen(s));
    buf_addch(out, '"');
    for (const char *c = safe.s; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_addch(out, '\\');
        buf_addch(out, *c);
    }
    buf_addch(out, '"');
}

static int report(const struct guard *g, struct err *err)
{
    autobuf struct buf line = BUF_INIT;
    if (WIFSIGNALED(g->status))
        buf_addf(&line, "{\"signal\":%d", WTERMSIG(g->status));
    else
        buf_addf(&line, "{\"exit\":%d", WEXITSTATUS(g->status));
    for (size_t i = 0; i < g->swept.n; i++) {
        buf_addstr(&line, i ? "," : ",\"swept\":[");
        quote(&line, g->swept.v[i]);
    }
    buf_addstr(&line, g->swept.n ? "]}\n" : "}\n");
    ssize_t n = write(GUARD_STATUS, line.s, line.len);
    return n == (ssize_t)line.len ? 0 : err_sys(err, "write the status");
}

int guard_run(const struct guard_options *opts, struct err *err)
{
    struct guard g = {.opts = opts, .lifeline = true};
    struct spawn sp = {
        .argv = opts->argv, .fds = {0, 1, 2, SPAWN_NONE, SPAWN_NONE}, .new_session = true};
    sigset_t waiting;
    if (fcntl(GUARD_LIFELINE, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(GUARD_STATUS, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, "a guard is started by the engine, with descriptors 3 and 4");
    autoclose int file = -1; /* held until we have gone */
    if (opts->file && guard_file_hold(opts->file, &file, err))
        return -1;
    if (hold_signals(&waiting, err) || adopt_orphans(err))
        return -1;
    sigdelset(&waiting, SIGCHLD);
    if (spawn_start(&sp, &g.child, err))
        return -1;
    watch_child(&g, &waiting);
    sweep(&g);
    int rc = report(&g, err);
    strv_done(&g.swept);
    return rc;
}
