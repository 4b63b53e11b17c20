#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *abort_if_null(void *p)
{
    if (!p)
        abort();
    return p;
}

void *mem_alloc(size_t size)
{
    return abort_if_null(calloc(1, size ? size : 1));
}

void *mem_array(size_t n, size_t size)
{
    return abort_if_null(calloc(n ? n : 1, size ? size : 1));
}

void *mem_grow(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        abort();
    return abort_if_null(realloc(p, bytes ? bytes : 1));
}

char *mem_dup(const void *p, size_t len)
{
    char *copy = abort_if_null(malloc(len + 1));
    if (len)
        memcpy(copy, p, len);
    copy[len] = '\0';
    return copy;
}

char *mem_str(const char *s)
{
    return mem_dup(s, strlen(s));
}

char *mem_vprintf(const char *fmt, va_list ap)
{
    char *s = NULL;
    if (vasprintf(&s, fmt, ap) < 0)
        abort();
    return s;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = mem_vprintf(fmt, ap);
    va_end(ap);
    return s;
}
