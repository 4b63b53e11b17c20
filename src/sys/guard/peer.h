/*
 * The process at the other end of a local socket (sys/proc/socket.h). Tells if it runs below a
 * guard (sys/guard/guard.h): then it belongs to an agent or to a command of a plan.
 *
 * An agent must not be able to hide this. So we trust only the kernel: the process that connected,
 * and the names of its ancestors. Nothing leaves a guard's pid namespace. Without a namespace the
 * guard is a subreaper, so an orphan stays below its guard. Only the means `group` has neither. We
 * never read the memory of such a process, because it can make that read block, and its environment
 * is part of its memory.
 */
#ifndef SYS_GUARD_PEER_H
#define SYS_GUARD_PEER_H

#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

/* The process name (comm) of each guard. */
#define PEER_GUARD "anabranch-guard"

enum peer_place {
    PEER_OUTSIDE, /* no guard among its ancestors */
    PEER_GUARDED,
    PEER_GONE, /* it has ended or has too many ancestors, so we cannot tell */
};

typedef VEC(pid_t) peer_line;

struct peer {
    enum peer_place place;
    peer_line line; /* the process, its parent and so on, as far as we climbed */
};
#define PEER_INIT ((struct peer){0})

/* Examines the process that connected. If the system has no /proc, every process is
 * PEER_OUTSIDE. */
void peer_look(int fd, struct peer *ret);
void peer_done(struct peer *peer);
#define autopeer own_cleanup(peer_done)

/* Fields of one /proc/PID/status. */
struct peer_status {
    char name[16];
    pid_t parent;
};
bool peer_parse(const char *text, struct peer_status *ret);

#endif
