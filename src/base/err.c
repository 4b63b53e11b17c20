#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* We cut a message that is too long at its end: its beginning names the place of the error. */
static void append_truncated(struct err *err, const char *s)
{
    size_t used = strlen(err->msg), len = strnlen(s, sizeof(err->msg) - 1 - used);
    memcpy(err->msg + used, s, len);
    err->msg[used + len] = '\0';
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    err->errnum = 0;
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
    int errnum = errno;
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    err->code = ERR_ENV;
    err->errnum = errnum;
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    append_truncated(err, ": ");
    append_truncated(err, strerror(errnum));
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char inner[sizeof(err->msg)];
    memcpy(inner, err->msg, sizeof(inner));
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    append_truncated(err, ": ");
    append_truncated(err, inner);
    return -1;
}
