/*
 * Blocks of free ports on the loopback interface, for tasks that start servers. No block is given
 * to two at the same time; another program may still take a port that nobody listens on yet.
 */
#ifndef SYS_PORTS_H
#define SYS_PORTS_H

#include <stdbool.h>
#include <stddef.h>

struct ports {
    bool *taken; /* per block; NULL before the first is taken */
    size_t next, count;
    int size;
};

/* The first of `size` free ports, one behind the other; 0 where there are none. The size is the
 * same in all calls. */
int ports_take(struct ports *p, int size);
void ports_give_back(struct ports *p, int port); /* 0 is fine */
void ports_done(struct ports *p);

#endif
