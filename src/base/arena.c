#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MIN = 512, TEXTS_MIN = 128, CHUNK_MAX = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    alignas(max_align_t) char bytes[];
};

static void free_part(struct arena_part *p)
{
    for (struct arena_chunk *c = p->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *p = (struct arena_part){0};
}

void arena_forget_records(struct arena *a)
{
    a->total -= a->records.total;
    free_part(&a->records);
}

void arena_done(struct arena *a)
{
    free_part(&a->records);
    free_part(&a->texts);
    a->total = 0;
}

/* We double the size of chunks: a large tree needs few chunks, a small tree wastes little. */
static void add_chunk(struct arena_part *p, size_t min, size_t need)
{
    size_t size = p->total < min ? min : p->total > CHUNK_MAX ? CHUNK_MAX : p->total;
    if (size < need)
        size = need;
    struct arena_chunk *c = mem_alloc(sizeof(*c) + size);
    c->next = p->chunks;
    p->chunks = c;
    p->next = c->bytes;
    p->end = c->bytes + size;
    p->total += size;
}

static void *take_record(struct arena *a, size_t size)
{
    struct arena_part *p = &a->records;
    size_t pad = p->next ? -(size_t)p->next & (alignof(max_align_t) - 1) : 0, before = p->total;
    if (!p->next || (size_t)(p->end - p->next) < pad || (size_t)(p->end - p->next) - pad < size) {
        add_chunk(p, RECORDS_MIN, size);
        pad = 0;
    }
    void *record = p->next + pad;
    p->next += pad + size;
    a->total += p->total - before;
    return record;
}

static char *take_text(struct arena *a, size_t size)
{
    struct arena_part *p = &a->texts;
    size_t before = p->total;
    if (!p->next || (size_t)(p->end - p->next) < size)
        add_chunk(p, TEXTS_MIN, size);
    char *text = p->next;
    p->next += size;
    a->total += p->total - before;
    return text;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return take_record(a, size ? size : 1);
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
    char *s = take_text(a, len + 1);
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
    char *s = take_text(a, (size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}
