/*
 * struct guarded: a program that runs in a worktree outside of any run. Its output goes to a file.
 * It has a session of its own; with a guard (sys/guard/guard.h) it also leaves no process behind.
 */
#ifndef RUN_PROCESS_GUARDED_H
#define RUN_PROCESS_GUARDED_H

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
    int64_t time; /* timeout in ms; 0: none */
    guarded_fn *next;
    void *ctx;

    int exit_code; /* set at its end; 128 + N if signal N ended it */
    bool overdue;  /* we ended it at its timeout */

    struct loop *loop; /* internal from here on */
    pid_t pid;
    int lifeline, status;
    struct watch *watch, *tick;
};

/* Starts it. The caller sets the members above `exit_code`. Calls `next` when it has ended. */
int guarded_start(struct guarded *e, struct loop *loop, const struct strv *argv,
                  const struct strv *env, struct err *err);

/* Ends it early if it is running; `next` is still called. */
void guarded_stop(struct guarded *e);

bool guarded_is_running(const struct guarded *e);

/* Appends the last line of its output. */
void guarded_last_words(const struct guarded *e, struct buf *out);

#endif
