/*
 * struct err: why a call failed, as a value on the caller's stack.
 *
 * A fallible function takes `struct err *err` last, returns 0 or -1, and fills *err when it returns
 * -1. `return err_sys(err, "open '%s'", path);` does both. On the way up err_wrap() puts context in
 * front. Messages are one line, without a final full stop or newline. err may be NULL where the
 * caller does not care why.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
    ERR_NONE,
    ERR_INPUT, /* what the user gave us is wrong: usage, plan, configuration */
    ERR_ENV,   /* the machine, a file or another program did not do its part */
};

struct err {
    enum err_code code;
    int errnum; /* errno at the time, or 0 */
    char msg[512];
};

/* All three return -1. err_sys appends strerror(errno) and records errno; its code is ERR_ENV. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
