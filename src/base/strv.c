#include "base/strv.h"

#include "base/mem.h"

#include <stdarg.h>

void strv_done(struct strv *sv)
{
    for (size_t i = 0; i < sv->n; i++)
        free(sv->v[i]);
    free(sv->v);
    *sv = (struct strv){0};
}

static void push_owned(struct strv *sv, char *s)
{
    if (sv->n + 1 >= sv->cap) {
        sv->cap = sv->cap ? sv->cap * 2 : 8;
        sv->v = mem_grow(sv->v, sv->cap, sizeof(*sv->v));
    }
    sv->v[sv->n++] = s;
    sv->v[sv->n] = NULL;
}

void strv_push(struct strv *sv, const char *s)
{
    push_owned(sv, mem_str(s));
}

void strv_pushf(struct strv *sv, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    push_owned(sv, mem_vprintf(fmt, ap));
    va_end(ap);
}

void strv_pushl(struct strv *sv, ...)
{
    va_list ap;
    va_start(ap, sv);
    for (const char *s; (s = va_arg(ap, const char *));)
        strv_push(sv, s);
    va_end(ap);
}

char *strv_pop(struct strv *sv)
{
    if (!sv->n)
        return NULL;
    char *last = sv->v[--sv->n];
    sv->v[sv->n] = NULL;
    return last;
}
