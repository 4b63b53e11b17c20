/*
 * Scope ownership of descriptors, as base/own.h has it for memory.
 *
 *     autoclose int fd = open(...);
 */
#ifndef SYS_OWN_FD_H
#define SYS_OWN_FD_H

#include "base/own.h"

#include <unistd.h>

/* A descriptor below zero owns nothing, and one that was closed is below zero: its number may be
 * someone else's by then. Files written through such a descriptor are closed by hand, because there
 * the result of close() matters. */
static inline void own_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

#define autoclose own_cleanup(own_close)

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
