/*
 * Runs a child process and captures its output, for callers that have a loop and must not block.
 */
#ifndef SYS_PROC_LOOP_CAPTURE_H
#define SYS_PROC_LOOP_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/proc/loop.h"

struct loop_proc;

/* status: its exit code, or 128 + the signal that ended it. out: its output, cut after max bytes.
 * The process is freed when this callback returns. */
typedef void loop_capture_fn(void *ctx, int status, const struct buf *out);

/* Starts argv with /dev/null as standard input and standard error. */
int loop_capture_start(struct loop *loop, char *const *argv, char *const *env, size_t max,
                       loop_capture_fn *fn, void *ctx, struct loop_proc **ret, struct err *err);

/* Kills it at once, without a callback. NULL is fine. */
void loop_capture_cancel(struct loop_proc *p);

#endif
