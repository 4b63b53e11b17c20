/*
 * Scope ownership: variables that release what they hold when they go out of scope.
 *
 *     autofree char *path = mem_printf(...);
 *     autoclose int fd = open(...);
 *     return steal_ptr(path);         // hands ownership to the caller, path becomes NULL
 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdlib.h>
#include <unistd.h>

#define own_cleanup(fn) __attribute__((cleanup(fn)))

static inline void own_free(void *p)
{
    free(*(void **)p);
}

/* A descriptor below zero owns nothing, and one that was closed is below zero: its number may be
 * someone else's by then. Files written through such a descriptor are closed by hand, because there
 * the result of close() matters. */
static inline void own_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

#define autofree  own_cleanup(own_free)
#define autoclose own_cleanup(own_close)

#define steal_ptr(p)                                                                               \
    ({                                                                                             \
        __typeof__(p) stolen_ = (p);                                                               \
        (p) = NULL;                                                                                \
        stolen_;                                                                                   \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
