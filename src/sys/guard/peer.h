/*
 * The process at the other end of a local socket (sys/proc/socket.h), and whether it runs below a
 * guard (sys/guard/guard.h): such a process is an agent's, or one of a plan's commands.
 *
 * An agent must not be able to hide this. So we believe only what the kernel keeps: the process
 * that connected, and the names of its ancestors. Nothing leaves a guard's pid namespace, and
 * without one the guard is a subreaper: so an orphan stays below its guard. Only the means `group`
 * has neither. We never read the memory of such a process, and its environment is that, because the
 * process can make us block there.
 */
#ifndef SYS_GUARD_PEER_H
#define SYS_GUARD_PEER_H

#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

/* The name (comm) of each guard. */
#define PEER_GUARD "anabranch-guard"

enum peer_place {
    PEER_OUTSIDE, /* no guard is above it */
    PEER_GUARDED,
    PEER_GONE, /* it has ended, or its ancestors are too many: nobody can say */
};

typedef VEC(pid_t) peer_line;

struct peer {
    enum peer_place place;
    peer_line line; /* the process, its parent and so on, as far as we had to look */
};
#define PEER_INIT ((struct peer){0})

/* Looks at who has connected. Where the system has no /proc, everyone is outside. */
void peer_look(int fd, struct peer *ret);
void peer_done(struct peer *peer);
#define autopeer own_cleanup(peer_done)

/* One process, from the text of its /proc/PID/status. */
struct peer_status {
    char name[16];
    pid_t parent;
};
bool peer_parse(const char *text, struct peer_status *ret);

#endif
