/*
 * struct err: why a call failed, as a value on the caller's stack.
 *
 * A function that can fail takes `struct err *err` last and returns 0 or -1. It fills *err if it
 * returns -1. `return err_sys(err, "open '%s'", path);` does both. On the way up err_wrap() puts
 * context in front. Messages are one line, without a final full stop or newline. err may be NULL if
 * the caller does not care about the reason.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
    ERR_NONE,
    ERR_INPUT, /* the user's input is wrong: usage, plan, configuration */
    ERR_ENV,   /* the machine, a file or another program failed */
};

struct err {
    enum err_code code;
    int errnum; /* errno at the time, or 0 */
    char msg[512];
};

/* All three return -1. err_sys() appends strerror(errno), records errno, and sets the code
 * ERR_ENV. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
