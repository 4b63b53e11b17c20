#include "sys/guard/guard.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "base/text/text.h"
#include "sys/clock.h"
#include "sys/guard/guard_file.h"
#include "sys/guard/peer.h"
#include "sys/guard/proc_usage.h"
#include "sys/own_fd.h"

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

enum {
    LIMITS_MS = 250, /* how often we check memory and processes */
    SETTLE_MS = 10,  /* ms to wait for processes that are about to end by themselves */
    SWEEP_GRACE_MS = 1000,
    SWEEP_ASK_MAX = 100, /* with more processes than this we kill at once */
    AGAIN_MS = 20,
    STUCK_MS = 5000, /* if a process lives so long after SIGKILL, we cannot end it */
    SWEPT_MAX = 20,
};

struct guard {
    const struct guard_options *opts;
    struct container c;
    sigset_t waiting;   /* the signal mask during ppoll() */
    int status;         /* status of the command, as waitpid() returns it */
    bool ended;         /* the command has ended */
    bool lifeline;      /* the lifeline is open */
    bool paused;        /* we have stopped the tree */
    bool killed;        /* we have begun to kill the tree */
    int64_t kill_began; /* when we began; 0: not yet */
    int64_t deadline;   /* when we kill the tree; 0: never */
    int64_t next_look;  /* when we check limits again; 0: never */
    const char *limit;  /* the limit that the tree exceeded, or NULL */
    struct strv swept;
    size_t left;
};

static void on_signal(int signal)
{
    (void)signal; /* the signal only has to interrupt ppoll() */
}

/* Lets SIGCHLD arrive only during ppoll(). Ignores the signals that end others: the engine decides
 * and sends us orders. */
static int hold_signals(bool program, sigset_t *ret_waiting, struct err *err)
{
    struct sigaction act = {.sa_handler = on_signal};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &held, ret_waiting) < 0 || sigaction(SIGCHLD, &act, NULL) < 0)
        return err_sys(err, "hold signals");
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; !program && i < ARRAY_LEN(ignored); i++) {
        if (sigaction(ignored[i], &ignore, NULL) < 0)
            return err_sys(err, "hold signals");
    }
    sigdelset(ret_waiting, SIGCHLD);
    return 0;
}

/* A stopped process handles a signal like SIGTERM only after SIGCONT. */
static void continue_tree(struct guard *g)
{
    if (g->paused)
        container_signal(&g->c, SIGCONT);
    g->paused = false;
}

static void end_command(struct guard *g)
{
    if (g->ended || g->deadline)
        return;
    g->deadline = clock_mono() + g->opts->grace;
    (void)kill(g->c.child,
               g->opts->interrupt_signal); /* not reaped yet, so the pid is still the command's */
    continue_tree(g);
}

static void kill_tree(struct guard *g)
{
    if (!g->killed)
        g->kill_began = clock_mono();
    g->killed = true;
    g->deadline = clock_mono() + AGAIN_MS;
    container_signal(&g->c, SIGKILL);
}

/* A process of another user (sudo), or one that waits for a dead disk. */
static bool is_stuck(const struct guard *g)
{
    return g->killed && clock_mono() - g->kill_began > STUCK_MS;
}

static void carry_out(struct guard *g, char order)
{
    switch (order) {
    case GUARD_KILL:
        kill_tree(g);
        break;
    case GUARD_PAUSE:
        if (!g->deadline)
            container_signal(&g->c, SIGSTOP);
        g->paused = !g->deadline;
        break;
    case GUARD_CONTINUE:
        continue_tree(g);
        break;
    default:
        end_command(g);
    }
}

static void read_orders(struct guard *g)
{
    char orders[16];
    ssize_t n = read(GUARD_LIFELINE, orders, sizeof(orders));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    for (ssize_t i = 0; i < n; i++)
        carry_out(g, orders[i]);
    if (n <= 0) {
        g->lifeline = false;
        end_command(g);
    }
}

/* Waits for the end of a child, an order, or a time (0: none). */
static void wait_for_event(struct guard *g, int64_t until)
{
    struct pollfd fd = {.fd = g->lifeline ? GUARD_LIFELINE : -1, .events = POLLIN};
    int64_t left = until - clock_mono();
    struct timespec wait = {.tv_sec = left > 0 ? left / 1000 : 0,
                            .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
    if (ppoll(&fd, 1, until ? &wait : NULL, &g->waiting) > 0)
        read_orders(g);
}

static void check_limits(struct guard *g)
{
    const struct limits *limits = &g->opts->limits;
    autoprocs struct proc_table all = {0};
    g->next_look = clock_mono() + LIMITS_MS;
    container_list(&g->c, &all);
    if (limits->processes && all.all.n > (size_t)limits->processes)
        g->limit = "processes";
    else if (limits->memory && usage_exceeds_memory(&all, limits->memory))
        g->limit = "memory";
    if (g->limit)
        kill_tree(g);
}

static int64_t pick_earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static void watch_child(struct guard *g)
{
    const struct limits *limits = &g->opts->limits;
    if (!g->c.limited && (limits->memory || limits->processes))
        g->next_look = clock_mono() + LIMITS_MS;
    while ((void)container_reap(&g->c, &g->ended, &g->status), !g->ended && !is_stuck(g)) {
        wait_for_event(g, pick_earlier(g->deadline, g->next_look));
        if (g->deadline && clock_mono() >= g->deadline)
            kill_tree(g);
        else if (g->next_look && !g->limit && clock_mono() >= g->next_look)
            check_limits(g);
    }
}

/* Records a limit that the kernel enforced. If the command succeeded all the same, the task has not
 * failed. */
static void note_kernel_limits(struct guard *g)
{
    if (g->limit || g->status == 0)
        return;
    if (cgroup_ran_out_of_memory(&g->c.cgroup))
        g->limit = "memory";
    else if (cgroup_ran_out_of_processes(&g->c.cgroup))
        g->limit = "processes";
}

static bool is_swept(struct guard *g)
{
    bool ended;
    int status;
    return !container_reap(&g->c, &ended, &status);
}

static void note_leftovers(struct guard *g)
{
    autoprocs struct proc_table all = {0};
    container_list(&g->c, &all);
    g->left = all.all.n;
    for (size_t i = 0; i < all.all.n && i < SWEPT_MAX; i++) {
        autobuf struct buf command = BUF_INIT;
        proc_table_command(all.all.v[i].pid, &command);
        strv_push(&g->swept, command.s);
    }
}

/* If we had to kill the tree anyway, we do not report its processes as leftovers. */
static void end_leftovers(struct guard *g)
{
    continue_tree(g);
    for (int64_t end = clock_mono() + SETTLE_MS; !is_swept(g) && clock_mono() < end;)
        wait_for_event(g, clock_mono() + 1); /* nobody tells us when orphans end, so we poll */
    if (!g->killed && !is_swept(g)) {
        note_leftovers(g);
        if (g->left <= SWEEP_ASK_MAX)
            container_signal(&g->c, SIGTERM);
    }
    int64_t end = clock_mono() + (g->left <= SWEEP_ASK_MAX ? SWEEP_GRACE_MS : 0);
    while (!is_swept(g) && !is_stuck(g)) {
        if (g->killed || clock_mono() >= end)
            kill_tree(g);
        wait_for_event(g, clock_mono() + AGAIN_MS);
    }
}

static void add_quoted(struct buf *out, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, s);
    buf_addch(out, '"');
    for (const char *c = safe.s; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_addch(out, '\\');
        buf_addch(out, *c);
    }
    buf_addch(out, '"');
}

static void add_stuck(const struct guard *g, struct buf *line)
{
    autoprocs struct proc_table all = {0};
    autobuf struct buf command = BUF_INIT;
    container_list(&g->c, &all);
    if (!all.all.n)
        return;
    proc_table_command(all.all.v[0].pid, &command);
    buf_addstr(line, ",\"stuck\":");
    add_quoted(line, command.s);
}

static int write_status(const struct guard *g, struct err *err)
{
    autobuf struct buf line = BUF_INIT;
    if (WIFSIGNALED(g->status))
        buf_addf(&line, "{\"signal\":%d", WTERMSIG(g->status));
    else
        buf_addf(&line, "{\"exit\":%d", WEXITSTATUS(g->status));
    buf_addf(&line, ",\"means\":\"%s\"", contain_words[g->c.means]);
    for (size_t i = 0; i < g->swept.n; i++) {
        buf_addstr(&line, i ? "," : ",\"swept\":[");
        add_quoted(&line, g->swept.v[i]);
    }
    if (g->swept.n)
        buf_addf(&line, "],\"left\":%zu", g->left);
    if (g->limit)
        buf_addf(&line, ",\"limit\":\"%s\"", g->limit);
    if (is_stuck(g))
        add_stuck(g, &line);
    buf_addstr(&line, "}\n");
    ssize_t n = write(GUARD_STATUS, line.s, line.len);
    return n == (ssize_t)line.len || errno == EPIPE ? 0 : err_sys(err, "write the status");
}

#ifdef __SANITIZE_ADDRESS__
/* At exit the leak checker traces us from a child process. Nobody may trace us, and that child
 * would be in the namespace. So we turn the leak checker off. */
static bool is_closed;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_closed;
}
#endif

/* Without a namespace the command sees us: it must not trace us or open our descriptors. */
static int deny_tracing(struct err *err)
{
#ifdef __SANITIZE_ADDRESS__
    is_closed = true;
#endif
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? err_sys(err, "keep others out") : 0;
#else
    (void)err;
    return 0;
#endif
}

static int die_with_git(struct err *err)
{
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? err_sys(err, "die with git") : 0;
#else
    (void)err;
    return 0;
#endif
}

/* git must see end of file when the program closes its streams, so we close ours. */
static int close_streams(struct err *err)
{
    autoclose int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    return none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(none, STDOUT_FILENO) < 0
               ? err_sys(err, "open '/dev/null'")
               : 0;
}

static int guard_tree(struct guard *g, struct err *err)
{
    if (deny_tracing(err) || container_start(&g->c, g->opts->argv, err))
        return -1;
    if (g->opts->program && close_streams(err))
        return -1;
    watch_child(g);
    note_kernel_limits(g);
    end_leftovers(g);
    return g->opts->program ? 0 : write_status(g, err);
}

static int close_on_exec(struct err *err)
{
    if (fcntl(GUARD_LIFELINE, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(GUARD_STATUS, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, "a guard is started by the engine, with descriptors 3 and 4");
    return 0;
}

int guard_run(const struct guard_options *opts, struct err *err)
{
    struct guard g = {.opts = opts, .lifeline = !opts->program};
    autoclose int file = -1; /* keep the lock until we exit */
    if ((!opts->program && close_on_exec(err)) ||
        (opts->file && guard_file_hold(opts->file, &file, err)))
        return -1;
    /* Entering a user namespace resets the signal for the parent's death, so we set it
     * afterwards. */
    if (hold_signals(opts->program, &g.waiting, err) ||
        container_open(&g.c, opts->contain, &opts->limits, &opts->hiding, err) ||
        (opts->program && die_with_git(err)))
        return -1;
    int rc = guard_tree(&g, err);
    container_close(&g.c);
    strv_done(&g.swept);
    if (rc == 0 && opts->program)
        _exit(WIFSIGNALED(g.status) ? 128 + WTERMSIG(g.status) : WEXITSTATUS(g.status));
    return rc;
}
