/*
 * Scope ownership of descriptors; base/own.h does the same for memory.
 *
 *
 *     autoclose int fd = open(...);
 */
#ifndef SYS_OWN_FD_H
#define SYS_OWN_FD_H

#include "base/own.h"

#include <unistd.h>

/* A descriptor below zero owns nothing. After close() we set it to -1, because the kernel may give
 * the same number to another file. If you write to a file, close it yourself: there the result of
 * close() matters. */
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
