#include "run/process/guarded.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "sys/fs/file.h"
#include "sys/guard/guard_args.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/self_exe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { GRACE_MS = 5000, LOG_MAX = 64 << 20 };

bool guarded_is_running(const struct guarded *e)
{
    return e->watch != NULL;
}

void guarded_stop(struct guarded *e)
{
    static const char stop = GUARD_STOP;
    if (!guarded_is_running(e))
        return;
    if (e->guarded)
        (void)kill(e->pid, SIGCONT); /* its command may have stopped the guard */
    if (!e->guarded)
        (void)kill(-e->pid, SIGKILL); /* a git: its group is its own until we reap it */
    else if (e->lifeline >= 0 && write(e->lifeline, &stop, 1) < 0)
        own_close(&e->lifeline); /* it is dead; we will be notified of its end */
}

void guarded_last_words(const struct guarded *e, struct buf *out)
{
    autobuf struct buf all = BUF_INIT;
    if (file_read(e->log, LOG_MAX, &all, NULL))
        return;
    while (all.len && all.s[all.len - 1] == '\n')
        buf_cut(&all, all.len - 1);
    const char *lf = strrchr(all.s, '\n');
    buf_addstr(out, lf ? lf + 1 : all.s);
}

/* Reads the guard's line about the command. Without that line, something killed the guard. */
static void read_status(struct guarded *e)
{
    autobuf struct buf line = BUF_INIT;
    struct arena a = {0};
    char bytes[4096];
    for (ssize_t n; (n = read(e->status, bytes, sizeof(bytes))) > 0;)
        buf_add(&line, bytes, (size_t)n);
    const struct node *said = doc_read_line(&a, line.s, line.len);
    if (!said && e->exit_code == 0)
        e->exit_code = GUARD_NOT_STARTED;
    if (said)
        e->exit_code = (int)node_get_int(said, "exit", 128 + node_get_int(said, "signal", 0));
    arena_done(&a);
}

static void on_end(void *ctx, int status)
{
    struct guarded *e = ctx;
    e->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (e->guarded)
        read_status(e);
    watch_free(e->watch);
    watch_free(e->tick);
    e->watch = e->tick = NULL;
    own_close(&e->lifeline);
    own_close(&e->status);
    e->next(e->ctx, e);
}

static void on_deadline(void *ctx)
{
    struct guarded *e = ctx;
    e->overdue = true;
    guarded_stop(e);
}

static void add_guard(const struct strv *argv, enum contain contain, struct strv *ret)
{
    autofree char *guard = self_companion(ANABRANCH_LIBEXEC, "anabranch-guard");
    struct guard_options opts = {
        .interrupt_signal = SIGTERM, .grace = GRACE_MS, .contain = contain, .argv = argv->v};
    strv_push(ret, guard ? guard : self_path());
    if (!guard)
        strv_push(ret, "__guard");
    guard_args_format(&opts, ret);
}

/* Adds a mark to the environment. Without better containment, a guard finds processes that left its
 * tree by this mark. */
static void add_mark(const struct strv *env, struct strv *ret)
{
    static const char name[] = GUARD_MARK "=";
    static unsigned guards;
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], name, strlen(name)) != 0)
            strv_push(ret, env->v[i]);
    }
    strv_pushf(ret, "%s%d.%u", name, (int)getpid(), ++guards);
}

static int start_guarded(struct guarded *e, const struct strv *argv, const struct strv *env,
                         int log, struct err *err)
{
    autostrv struct strv guard = {0}, marked = {0};
    enum contain contain;
    if (contain_wanted(&contain, err))
        return -1;
    add_guard(argv, contain, &guard);
    add_mark(env, &marked);
    int life[2] = {-1, -1}, status[2] = {-1, -1};
    int rc = spawn_pipe(life, err) || spawn_pipe(status, err) ? -1 : 0;
    if (rc == 0 &&
        fcntl(status[0], F_SETFL, O_NONBLOCK) < 0) /* we read after the writer has ended */
        rc = err_sys(err, "fcntl");
    struct spawn sp = {.argv = guard.v,
                       .env = marked.v,
                       .dir = e->dir,
                       .fds = {SPAWN_NULL, log, log, life[0], status[1]},
                       .new_session = true};
    if (rc == 0)
        rc = spawn_start(&sp, &e->pid, err);
    own_close(&life[0]);
    own_close(&status[1]);
    e->lifeline = life[1];
    e->status = status[0];
    return rc;
}

static int start_plain(struct guarded *e, const struct strv *argv, const struct strv *env, int log,
                       struct err *err)
{
    struct spawn sp = {.argv = argv->v,
                       .env = env->v,
                       .dir = e->dir,
                       .fds = {SPAWN_NULL, log, log, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    return spawn_start(&sp, &e->pid, err);
}

int guarded_start(struct guarded *e, struct loop *loop, const struct strv *argv,
                  const struct strv *env, struct err *err)
{
    autoclose int log = -1;
    e->loop = loop;
    e->lifeline = e->status = -1;
    if (file_open(AT_FDCWD, e->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &log, err))
        return -1;
    if (e->guarded ? start_guarded(e, argv, env, log, err) : start_plain(e, argv, env, log, err)) {
        own_close(&e->lifeline);
        own_close(&e->status);
        return -1;
    }
    e->watch = loop_child(loop, e->pid, on_end, e);
    e->tick = e->time ? loop_timer(loop, e->time, on_deadline, e) : NULL;
    return 0;
}
