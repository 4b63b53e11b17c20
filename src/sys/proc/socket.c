#include "sys/proc/socket.h"

#include "base/own.h"
#include "sys/clock.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 128, CONNECT_MS = 5000, AGAIN_MS = 5 };

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* then SIGPIPE must be ignored, as a run does */
#endif

/* If the path is too long for a socket address, we use a descriptor of its folder. Keep *ret_dir
 * open while you use the address. */
static int fill_address(const char *dir, const char *name, struct sockaddr_un *ret, int *ret_dir,
                        struct err *err)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_dir = -1;
    int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", dir, name);
    if (n > 0 && (size_t)n < sizeof(ret->sun_path))
        return 0;
    *ret_dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return err_sys(err, "open '%s'", dir);
    n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", *ret_dir, name);
    if (n > 0 && (size_t)n < sizeof(ret->sun_path))
        return 0;
    own_close(ret_dir);
    return err_set(err, ERR_ENV, "the name of the socket '%s' is too long", name);
}

static int make_socket(int *ret_fd, struct err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return err_sys(err, "socket");
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        (void)close(fd);
        return err_sys(err, "fcntl");
    }
    *ret_fd = fd;
    return 0;
}

int socket_listen(const char *dir, const char *name, int *ret_fd, struct err *err)
{
    struct sockaddr_un to;
    autoclose int fd = -1, folder = -1;
    if (fill_address(dir, name, &to, &folder, err) || make_socket(&fd, err))
        return -1;
    if (unlink(to.sun_path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s/%s'", dir, name);
    mode_t mask = umask(0177);
    int rc = bind(fd, (const struct sockaddr *)&to, sizeof(to));
    (void)umask(mask); /* cannot fail */
    if (rc < 0 || listen(fd, BACKLOG) < 0)
        return err_sys(err, "listen at '%s/%s'", dir, name);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Checks the user of the process at the other end. The kernel recorded it at connect(). */
static bool is_allowed(int fd)
{
    uid_t uid;
#ifdef __linux__
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || len != sizeof(peer))
        return false;
    uid = peer.uid;
#else
    gid_t gid;
    if (getpeereid(fd, &uid, &gid) < 0)
        return false;
#endif
    return uid == geteuid() || uid == 0;
}

int socket_accept(int fd)
{
    autoclose int one = accept(fd, NULL, NULL);
    int flags = one < 0 ? -1 : fcntl(one, F_GETFL);
    if (flags < 0 || fcntl(one, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(one, F_SETFL, flags | O_NONBLOCK) < 0 || !is_allowed(one))
        return -1;
    return steal_fd(&one);
}

/* Retries for a while: if too many clients connect at this moment, the queue is full. */
static bool connect_patiently(int fd, const struct sockaddr_un *to)
{
    struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000};
    int64_t end = clock_mono() + CONNECT_MS;
    while (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0) {
        if ((errno != EAGAIN && errno != EINTR) || clock_mono() >= end)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

int socket_connect(const char *dir, const char *name, int *ret_fd, struct err *err)
{
    struct sockaddr_un to;
    autoclose int fd = -1, folder = -1;
    if (fill_address(dir, name, &to, &folder, err) || make_socket(&fd, err))
        return -1;
    if (!connect_patiently(fd, &to))
        return err_sys(err, "connect to '%s/%s'", dir, name);
    *ret_fd = steal_fd(&fd);
    return 0;
}

bool socket_send(int fd, const char *s, size_t len)
{
    ssize_t n;
    do {
        n = send(fd, s, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n >= 0 && (size_t)n == len;
}

bool socket_take(int fd, size_t max, struct buf *out)
{
    buf_reserve(out, max);
    ssize_t n = recv(fd, out->s + out->len, max, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    out->len += (size_t)n;
    out->s[out->len] = '\0';
    return n > 0;
}

bool socket_wait(int fd, int64_t ms)
{
    int64_t end = clock_mono() + ms;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int64_t left = ms; left >= 0; left = end - clock_mono()) {
        int n = poll(&p, 1, (int)left);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}
