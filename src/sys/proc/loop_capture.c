#include "sys/proc/loop_capture.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/proc/stuck_watch.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

struct loop_proc {
    struct watch *watch;
    struct stuck_watch *stuck;
    pid_t pid;
    int out; /* a scratch file: no output is lost, and nobody has to read a pipe meanwhile */
    size_t max;
    loop_capture_fn *fn;
    void *ctx;
};

static void read_all(const struct loop_proc *p, struct buf *out)
{
    char bytes[65536];
    off_t at = 0;
    for (ssize_t n; out->len < p->max && (n = pread(p->out, bytes, sizeof(bytes), at)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        buf_add(out, bytes, (size_t)n);
        at += n;
    }
}

static void free_process(struct loop_proc *p)
{
    stuck_watch_free(p->stuck);
    watch_free(p->watch);
    own_close(&p->out);
    free(p);
}

static void on_end(void *ctx, int status)
{
    struct loop_proc *p = ctx;
    autobuf struct buf out = BUF_INIT;
    read_all(p, &out);
    p->fn(p->ctx, spawn_code(status), &out);
    free_process(p);
}

int loop_capture_start(struct loop *loop, char *const *argv, char *const *env, size_t max,
                       loop_capture_fn *fn, void *ctx, struct loop_proc **ret, struct err *err)
{
    autoclose int out = -1;
    pid_t pid;
    if (file_scratch(&out, err))
        return -1;
    struct spawn sp = {.argv = argv,
                       .env = env,
                       .fds = {SPAWN_NULL, out, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    if (spawn_start(&sp, &pid, err))
        return -1;
    struct loop_proc *p = mem_alloc(sizeof(*p));
    *p = (struct loop_proc){.pid = pid, .out = steal_fd(&out), .max = max, .fn = fn, .ctx = ctx};
    p->watch = loop_child(loop, pid, on_end, p);
    p->stuck = stuck_watch_new(loop, pid, NULL);
    *ret = p;
    return 0;
}

void loop_capture_cancel(struct loop_proc *p)
{
    if (!p)
        return;
    (void)kill(-p->pid, SIGKILL); /* it may have ended just now */
    (void)spawn_reap(p->pid, NULL, NULL);
    free_process(p);
}
