#include "sys/guard/peer.h"

#include "base/own.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { STATUS_MAX = 8192, ANCESTORS_MAX = 256, TRIES_MAX = 100 };

void peer_done(struct peer *peer)
{
    vec_done(&peer->line);
}

/* Returns the text behind "KEY:" and blanks, or NULL. */
static const char *find_field(const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *s = text; s; s = strchr(s, '\n'), s = s ? s + 1 : NULL) {
        if (strncmp(s, key, len) == 0 && s[len] == ':')
            return s + len + 1 + strspn(s + len + 1, " \t");
    }
    return NULL;
}

bool peer_parse(const char *text, struct peer_status *ret)
{
    const char *name = find_field(text, "Name"), *parent = find_field(text, "PPid");
    if (!name || !parent)
        return false;
    *ret = (struct peer_status){.parent = (pid_t)strtol(parent, NULL, 10)};
    (void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(name, "\n"), name);
    return true;
}

static bool read_status(pid_t pid, struct peer_status *ret)
{
    char text[STATUS_MAX];
    return proc_table_read(pid, "status", text, sizeof(text)) && peer_parse(text, ret);
}

/* The /proc of another pid namespace shows other numbers. */
static bool has_proc(void)
{
    char number[32];
    ssize_t n = readlink("/proc/self", number, sizeof(number) - 1);
    number[n > 0 ? n : 0] = '\0';
    return strtol(number, NULL, 10) == getpid();
}

static void list_our_ancestors(peer_line *line)
{
    struct peer_status s;
    pid_t pid = getpid();
    do {
        vec_push(line, pid);
    } while (line->n < ANCESTORS_MAX && read_status(pid, &s) && (pid = s.parent) > 0);
}

static bool has_pid(const peer_line *line, pid_t pid)
{
    for (size_t i = 0; i < line->n; i++) {
        if (line->v[i] == pid)
            return true;
    }
    return false;
}

/* If a parent dies, its child gets another parent before the pid can be reused. */
static bool has_parent(pid_t pid, pid_t parent)
{
    struct peer_status s;
    return read_status(pid, &s) && s.parent == parent;
}

/* Walks up from a process to our common ancestor. We may be below a guard ourselves, if an agent
 * started our run, so we must not look further up. Returns false if an ancestor died meanwhile. */
static bool climb_parents(pid_t pid, const peer_line *own, peer_line *line, enum peer_place *ret)
{
    struct peer_status s;
    *ret = PEER_OUTSIDE;
    for (pid_t child = 0; pid > 0 && !has_pid(own, pid); child = pid, pid = s.parent) {
        bool known = line->n < ANCESTORS_MAX && read_status(pid, &s);
        if (child && !has_parent(child, pid))
            return false;
        vec_push(line, pid);
        if (!known) {
            *ret = PEER_GONE;
            return true;
        }
        if (strcmp(s.name, PEER_GUARD) == 0)
            *ret = PEER_GUARDED;
    }
    return true;
}

/* Processes between a peer and its guard may die while we climb. Its parents then change, and we
 * start again. */
static enum peer_place find_place(pid_t pid, const peer_line *own, peer_line *line)
{
    enum peer_place place;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        line->n = 0;
        if (climb_parents(pid, own, line, &place))
            return place;
    }
    return PEER_GONE;
}

#ifdef __linux__

/* Returns a descriptor that tells us if the peer has ended; -1 if the kernel has none. */
static int open_pidfd(int fd)
{
    int pidfd = -1;
    socklen_t len = sizeof(pidfd);
    return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0 ? pidfd : -1;
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return pidfd >= 0 && poll(&p, 1, 0) != 0;
}

/* Another process may get the peer's pid after it ends. So at the end we check that it still
 * lives. */
void peer_look(int fd, struct peer *ret)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    *ret = PEER_INIT;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0) {
        ret->place = PEER_GONE;
        return;
    }
    if (!who.pid || !has_proc()) /* 0: the peer is in an outer pid namespace */
        return;
    autoclose int pidfd = open_pidfd(fd);
    peer_line own = {0};
    list_our_ancestors(&own);
    ret->place = find_place(who.pid, &own, &ret->line);
    vec_done(&own);
    if (has_ended(pidfd))
        ret->place = PEER_GONE;
}

#else

void peer_look(int fd, struct peer *ret)
{
    (void)fd, (void)has_proc, (void)list_our_ancestors, (void)find_place;
    *ret = PEER_INIT;
}

#endif
