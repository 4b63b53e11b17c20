#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_MIN = 512, CHUNK_MAX = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    alignas(max_align_t) char bytes[];
};

void arena_done(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *a = (struct arena){0};
}

/* We double the size of chunks: a large tree needs few chunks, a small tree wastes little. */
static void add_chunk(struct arena *a, size_t need)
{
    size_t size = a->total < CHUNK_MIN ? CHUNK_MIN : a->total > CHUNK_MAX ? CHUNK_MAX : a->total;
    if (size < need)
        size = need;
    struct arena_chunk *c = mem_alloc(sizeof(*c) + size);
    c->next = a->chunks;
    a->chunks = c;
    a->next = c->bytes;
    a->end = c->bytes + size;
    a->total += size;
}

static void *take_bytes(struct arena *a, size_t size, size_t align)
{
    size_t pad = a->next ? -(size_t)a->next & (align - 1) : 0;
    if (!a->next || (size_t)(a->end - a->next) < pad || (size_t)(a->end - a->next) - pad < size) {
        add_chunk(a, size);
        pad = 0;
    }
    void *p = a->next + pad;
    a->next += pad + size;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return take_bytes(a, size ? size : 1, alignof(max_align_t));
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        abort();
    return arena_alloc(a, bytes);
}

char *arena_dup(struct arena *a, const void *p, size_t len)
{
    char *s = take_bytes(a, len + 1, 1);
    if (len)
        memcpy(s, p, len);
    s[len] = '\0';
    return s;
}

char *arena_str(struct arena *a, const char *s)
{
    return arena_dup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    char *s = take_bytes(a, (size_t)n + 1, 1);
    va_start(ap, fmt);
    (void)vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}
