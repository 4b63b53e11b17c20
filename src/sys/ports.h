/*
 * Blocks of free ports on the loopback interface, for tasks that start servers. Each block belongs
 * to one task at a time. Another program can still take a port on which nobody listens yet.
 */
#ifndef SYS_PORTS_H
#define SYS_PORTS_H

#include <stdbool.h>
#include <stddef.h>

struct ports {
    bool *taken; /* per block; NULL before the first ports_take() */
    size_t next, count;
    int size;
};

/* Returns the first of `size` consecutive free ports, or 0 if there are none. The size must be the
 * same in all calls. */
int ports_take(struct ports *p, int size);
void ports_give_back(struct ports *p, int port); /* 0 is fine */
void ports_done(struct ports *p);

#endif
