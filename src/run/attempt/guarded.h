/*
 * struct errand: a program that is run in a worktree outside of any run, its output in a file. It
 * has a session of its own; one that is guarded (sys/guard/guard.h) also leaves nothing running.
 */
#ifndef RUN_ATTEMPT_GUARDED_H
#define RUN_ATTEMPT_GUARDED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "sys/proc/loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct errand;
typedef void errand_fn(void *ctx, struct errand *e);

struct errand {
    const char *dir, *log;
    bool guarded;
    int64_t time; /* ms that it may take; 0: any */
    errand_fn *next;
    void *ctx;

    int exit_code; /* when it has ended; 128 + the signal that ended it */
    bool overdue;  /* it was ended because it took too long */

    struct loop *loop; /* from here on: its own */
    pid_t pid;
    int lifeline, status;
    struct watch *watch, *tick;
};

/* Starts it; the members above are set. `next` is called when it has ended. */
int errand_start(struct errand *e, struct loop *loop, const struct strv *argv,
                 const struct strv *env, struct err *err);

/* Ends it early, if it runs; `next` follows all the same. */
void errand_stop(struct errand *e);

bool errand_is_running(const struct errand *e);

/* Appends the last line of what it wrote. */
void errand_last_words(const struct errand *e, struct buf *out);

#endif
