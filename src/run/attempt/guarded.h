/*
 * struct guarded: a program that is run in a worktree outside of any run, its output in a file. It
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

struct guarded;
typedef void guarded_fn(void *ctx, struct guarded *e);

struct guarded {
    const char *dir, *log;
    bool guarded;
    int64_t time; /* ms that it may take; 0: any */
    guarded_fn *next;
    void *ctx;

    int exit_code; /* when it has ended; 128 + the signal that ended it */
    bool overdue;  /* it was ended because it took too long */

    struct loop *loop; /* from here on: its own */
    pid_t pid;
    int lifeline, status;
    struct watch *watch, *tick;
};

/* Starts it; the members above are set. `next` is called when it has ended. */
int guarded_start(struct guarded *e, struct loop *loop, const struct strv *argv,
                  const struct strv *env, struct err *err);

/* Ends it early, if it runs; `next` follows all the same. */
void guarded_stop(struct guarded *e);

bool guarded_is_running(const struct guarded *e);

/* Appends the last line of what it wrote. */
void guarded_last_words(const struct guarded *e, struct buf *out);

#endif
