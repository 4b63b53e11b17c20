#include "base/buf.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

char buf_empty[1];

void buf_done(struct buf *b)
{
    if (b->cap)
        free(b->s);
    *b = (struct buf)BUF_INIT;
}

void buf_reserve(struct buf *b, size_t extra)
{
    size_t need = b->len + extra + 1;
    if (need < extra)
        abort();
    if (need <= b->cap)
        return;
    size_t cap = b->cap + b->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    b->s = mem_grow(b->cap ? b->s : NULL, cap, 1);
    b->cap = cap;
    b->s[b->len] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t len)
{
    if (!len)
        return;
    buf_reserve(b, len);
    memcpy(b->s + b->len, p, len);
    b->len += len;
    b->s[b->len] = '\0';
}

void buf_addstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addrep(struct buf *b, char c, size_t n)
{
    if (!n)
        return;
    buf_reserve(b, n);
    memset(b->s + b->len, c, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_addv(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        abort();
    buf_reserve(b, (size_t)n);
    (void)vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_addv(b, fmt, ap);
    va_end(ap);
}

void buf_cut(struct buf *b, size_t len)
{
    if (len < b->len) {
        b->len = len;
        b->s[len] = '\0';
    }
}

char *buf_steal(struct buf *b)
{
    buf_reserve(b, 0);
    char *s = b->s;
    *b = (struct buf)BUF_INIT;
    return s;
}
