/*
 * Scope ownership: variables that release what they hold when they go out of scope.
 *
 *     autofree char *path = mem_printf(...);
 *     return steal_ptr(path);         // hands ownership to the caller, path becomes NULL
 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdlib.h>

#define own_cleanup(fn) __attribute__((cleanup(fn)))

static inline void own_free(void *p)
{
    free(*(void **)p);
}

#define autofree own_cleanup(own_free)

#define steal_ptr(p)                                                                               \
    ({                                                                                             \
        __typeof__(p) stolen_ = (p);                                                               \
        (p) = NULL;                                                                                \
        stolen_;                                                                                   \
    })

#endif
