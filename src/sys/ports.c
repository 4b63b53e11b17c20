#include "sys/ports.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/own_fd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Below the range from which systems choose ports for outgoing connections. */
enum { FIRST_PORT = 20000, END_PORT = 32768 };

static bool is_free(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
}

static bool are_free(int first, int size)
{
    for (int i = 0; i < size; i++) {
        if (!is_free(first + i))
            return false;
    }
    return true;
}

/* Begins at a random block, so that runs that run at the same time begin at different ones. */
static void choose_first_block(struct ports *p, int size)
{
    unsigned random = 0;
    p->size = size;
    p->count = (size_t)((END_PORT - FIRST_PORT) / size);
    p->taken = mem_array(p->count, sizeof(*p->taken));
    if (getentropy(&random, sizeof(random)) == 0)
        p->next = random % p->count;
}

int ports_take(struct ports *p, int size)
{
    if (!p->taken)
        choose_first_block(p, size);
    for (size_t tries = 0; tries < p->count; tries++) {
        size_t block = p->next;
        int first = FIRST_PORT + (int)block * p->size;
        p->next = (p->next + 1) % p->count;
        if (p->taken[block] || !are_free(first, p->size))
            continue;
        p->taken[block] = true;
        return first;
    }
    return 0;
}

void ports_give_back(struct ports *p, int port)
{
    if (port)
        p->taken[(port - FIRST_PORT) / p->size] = false;
}

void ports_done(struct ports *p)
{
    free(p->taken);
    *p = (struct ports){0};
}
