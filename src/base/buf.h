/*
 * struct buf: a growing byte buffer. `s` always ends with a NUL, also when the buf is empty. `len`
 * does not count that NUL. So a buf holds any bytes and can still be passed as a C string.
 *
 *
 *     autobuf struct buf b = BUF_INIT;
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/own.h"

#include <stdarg.h>
#include <stddef.h>

struct buf {
    char *s;
    size_t len, cap; /* cap is 0 while s is not on the heap */
};

extern char buf_empty[1];
#define BUF_INIT                                                                                   \
    {                                                                                              \
        .s = buf_empty                                                                             \
    }

void buf_done(struct buf *b); /* leaves an empty, usable buf */
#define autobuf own_cleanup(buf_done)

void buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t len);
void buf_addstr(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addrep(struct buf *b, char c, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addv(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_cut(struct buf *b, size_t len); /* shortens to len bytes */
char *buf_steal(struct buf *b);          /* gives the heap string to the caller; b is empty again */

#endif
