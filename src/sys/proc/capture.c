#include "sys/proc/capture.h"

#include "base/own.h"
#include "sys/clock.h"
#include "sys/interrupt_child.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/proc/stuck.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STDERR_MAX = 64 << 10, PATIENCE_MS = 10 * 60 * 1000 };

/* A pipe that we read: we keep up to `left` more bytes and drop the rest. */
struct stream {
    int fd;
    struct buf *out; /* NULL: keep nothing */
    size_t left;
    bool cut;
};

static void keep_bytes(struct stream *s, const char *bytes, size_t n)
{
    if (n > s->left) {
        s->cut = true;
        n = s->left;
    }
    if (s->out)
        buf_add(s->out, bytes, n);
    s->left -= n;
}

/* Reads the available bytes. Closes the pipe at end of file. */
static int read_pipe(struct stream *s, struct err *err)
{
    char bytes[65536];
    ssize_t n = read(s->fd, bytes, sizeof(bytes));
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : err_sys(err, "read from a child");
    if (n > 0) {
        keep_bytes(s, bytes, (size_t)n);
        return 0;
    }
    (void)close(steal_fd(&s->fd));
    return 0;
}

/* The timeout of poll(): until the deadline, but at most until the next check for a stuck git. */
static int poll_timeout(int64_t began, int64_t end)
{
    int64_t left = interrupt_until(began, end) - clock_mono();
    return left <= 0 ? 0 : left < stuck_look_ms() ? (int)left : stuck_look_ms();
}

static int read_streams(struct stream streams[2], pid_t pid, struct err *err)
{
    int64_t began = clock_mono(), end = began + time_limit(PATIENCE_MS);
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd fds[2] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};
        int wait = poll_timeout(began, end), ready = poll(fds, 2, wait);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return err_sys(err, "poll");
        if (ready == 0 && !wait)
            return err_set(err, ERR_ENV, "it did not end within %lld s",
                           (long long)(clock_mono() - began) / 1000);
        if (ready == 0 && stuck_check(pid, err))
            return -1;
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents && read_pipe(&streams[i], err))
                return -1;
        }
        if (streams[0].cut)
            return err_set(err, ERR_ENV, "it wrote more than was expected of it");
    }
    return 0;
}

/* We wait with WNOWAIT first: until we reap the child, no other process gets its number, so
 * interrupt_begin()'s group stays valid. */
static int reap_process(pid_t pid, int *ret_status, struct err *err)
{
    siginfo_t info;
    int status;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    interrupt_end();
    if (spawn_reap(pid, &status, err))
        return -1;
    *ret_status = spawn_code(status);
    return 0;
}

static int capture_child(const int *folder, const struct fence *fence, int in, char *const argv[],
                         char *const env[], size_t max, struct buf *out, struct buf *errout,
                         int *ret_status, struct err *err)
{
    struct spawn sp = {.argv = argv,
                       .env = env,
                       .folder = folder,
                       .fence = fence,
                       .fds = {in, SPAWN_NONE, SPAWN_NONE, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true}; /* ^C at the terminal must not reach it */
    int fds[2];
    pid_t pid;
    int started = spawn_captured(&sp, fds, &pid, err);
    struct stream streams[2] = {{fds[0], out, max, false}, {fds[1], errout, STDERR_MAX, false}};
    int result = started;
    if (started == 0)
        interrupt_begin(pid);
    if (started == 0 && read_streams(streams, pid, err)) {
        result = err_wrap(err, "'%s'", argv[0]);
        spawn_end(pid);
    }
    own_close(&streams[0].fd);
    own_close(&streams[1].fd);
    struct err reap_err;
    if (started == 0 && reap_process(pid, ret_status, &reap_err) && !result)
        result = err_set(err, ERR_ENV, "%s", reap_err.msg);
    return result;
}

int proc_capture_in(const int *folder, const struct fence *fence, char *const argv[],
                    char *const env[], size_t max, struct buf *out, struct buf *errout,
                    int *ret_status, struct err *err)
{
    return capture_child(folder, fence, SPAWN_NULL, argv, env, max, out, errout, ret_status, err);
}

int proc_capture(char *const argv[], char *const env[], size_t max, struct buf *out,
                 struct buf *errout, int *ret_status, struct err *err)
{
    return proc_capture_in(NULL, NULL, argv, env, max, out, errout, ret_status, err);
}

/* Puts the input into a file: with a pipe we would have to write and read at the same time. */
static int open_input(const struct buf *in, struct err *err)
{
    FILE *file = tmpfile();
    if (!file)
        return err_sys(err, "make a temporary file");
    bool good = fwrite(in->s, 1, in->len, file) == in->len && fflush(file) == 0;
    int fd = good ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0) {
        (void)err_sys(err, "write a temporary file");
        own_close(&fd);
        fd = -1;
    }
    (void)fclose(file);
    return fd;
}

int proc_filter_in(const int *folder, const struct fence *fence, const struct buf *in,
                   char *const argv[], char *const env[], size_t max, struct buf *out,
                   struct buf *errout, int *ret_status, struct err *err)
{
    autoclose int fd = open_input(in, err);
    return fd < 0 ? -1
                  : capture_child(folder, fence, fd, argv, env, max, out, errout, ret_status, err);
}
