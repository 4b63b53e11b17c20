#include "sys/proc/coproc.h"

#include "base/own.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/interrupt_child.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/proc/stuck.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000, STOP_MS = 1000 };

void coproc_init(struct coproc *c)
{
    *c = (struct coproc){.in = -1, .out = -1, .pending = BUF_INIT};
}

bool coproc_running(const struct coproc *c)
{
    return c->pid > 0;
}

int coproc_start(struct coproc *c, char *const *argv, char *const *env, int extra, struct err *err)
{
    int in[2], out[2];
    if (spawn_pipe(in, err))
        return -1;
    if (spawn_pipe(out, err)) {
        own_close(&in[0]);
        own_close(&in[1]);
        return -1;
    }
    struct spawn sp = {.argv = argv,
                       .env = env,
                       .fds = {in[0], out[1], SPAWN_NULL, extra, SPAWN_NONE},
                       .new_session = true}; /* ^C at the terminal must not reach it */
    int rc = spawn_start(&sp, &c->pid, err);
    own_close(&in[0]);
    own_close(&out[1]);
    if (rc) {
        own_close(&in[1]);
        own_close(&out[0]);
        c->pid = 0;
        return -1;
    }
    c->in = in[1];
    c->out = out[0];
    return 0;
}

void coproc_hang_up(struct coproc *c)
{
    own_close(&c->in);
}

bool coproc_stop(struct coproc *c)
{
    int status = 0;
    bool ended = false;
    if (c->pid > 0) {
        own_close(&c->in);
        own_close(&c->out);
        ended = spawn_ended(c->pid, STOP_MS);
        if (!ended)
            spawn_end(c->pid);
        (void)spawn_reap(c->pid, &status, NULL);
    }
    buf_done(&c->pending);
    coproc_init(c);
    return ended && WIFSIGNALED(status);
}

int coproc_write(struct coproc *c, const void *p, size_t len, struct err *err)
{
    interrupt_begin(c->pid);
    int rc = file_write(c->in, p, len) ? err_sys(err, "write to a child") : 0;
    interrupt_end();
    return rc;
}

static int give_up(struct coproc *c, struct err *err)
{
    spawn_end(c->pid);
    (void)err_set(err, ERR_ENV, "no answer");
    if (err)
        err->errnum = ETIMEDOUT;
    return -1;
}

/* Waits until there is more to read, or fails after the time limit. */
static int await_more(struct coproc *c, struct err *err)
{
    struct pollfd fd = {.fd = c->out, .events = POLLIN};
    int64_t ms = time_limit(PATIENCE_MS), began = clock_mono();
    for (int ready = 0; ready <= 0;) {
        int64_t left = interrupt_until(began, began + ms) - clock_mono();
        ready = left <= 0 ? 0 : poll(&fd, 1, left < stuck_look_ms() ? (int)left : stuck_look_ms());
        if (left <= 0 || (ready < 0 && errno != EINTR))
            return give_up(c, err);
        if (ready == 0 && stuck_check(c->pid, err)) {
            spawn_end(c->pid);
            return -1;
        }
    }
    return 0;
}

static int read_more(struct coproc *c, struct err *err)
{
    char bytes[16384];
    if (await_more(c, err))
        return -1;
    ssize_t n = read(c->out, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        return err_set(err, ERR_ENV, "it ended");
    buf_add(&c->pending, bytes, (size_t)n);
    return 0;
}

/* Reads until `len` bytes are pending. If len is 0, until a whole line is pending. */
static int read_until(struct coproc *c, size_t len, struct err *err)
{
    int rc = 0;
    interrupt_begin(c->pid);
    while (rc == 0 && (len ? c->pending.len < len : !memchr(c->pending.s, '\n', c->pending.len)))
        rc = read_more(c, err);
    interrupt_end();
    return rc;
}

static void drop_pending(struct coproc *c, size_t len)
{
    size_t rest = c->pending.len - len;
    memmove(c->pending.s, c->pending.s + len, rest);
    buf_cut(&c->pending, rest);
}

int coproc_read_line(struct coproc *c, struct buf *out, struct err *err)
{
    if (read_until(c, 0, err))
        return -1;
    char *last = memchr(c->pending.s, '\n', c->pending.len);
    size_t len = (size_t)(last - c->pending.s);
    buf_add(out, c->pending.s, len);
    drop_pending(c, len + 1);
    return 0;
}

int coproc_read(struct coproc *c, size_t len, struct buf *out, struct err *err)
{
    if (len && read_until(c, len, err))
        return -1;
    buf_add(out, c->pending.s, len);
    drop_pending(c, len);
    return 0;
}
