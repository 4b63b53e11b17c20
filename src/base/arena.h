/*
 * struct arena: memory that we free all at once. For trees and models that are built once and then
 * read.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/own.h"

#include <stddef.h>

struct arena_chunk;

struct arena_part {
    struct arena_chunk *chunks;
    char *next, *end;
    size_t total;
};

struct arena {
    struct arena_part records, texts; /* text needs no alignment, and may live longer */
    size_t total;                     /* bytes allocated */
};

void arena_done(struct arena *a);
#define autoarena own_cleanup(arena_done)

/* Frees what arena_alloc() and arena_array() gave. Strings stay: the model of a plan refers to the
 * strings of its tree. */
void arena_forget_records(struct arena *a);

void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
void *arena_array(struct arena *a, size_t n, size_t size);
char *arena_dup(struct arena *a, const void *p, size_t len); /* adds a NUL at the end */
char *arena_str(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
