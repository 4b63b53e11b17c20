/*
 * A child process whose output is wanted whole, for who has a loop and does not wait for it.
 */
#ifndef SYS_PROC_LOOP_CAPTURE_H
#define SYS_PROC_LOOP_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/proc/loop.h"

struct loop_proc;

/* status: its exit code, or 128 + the signal that ended it; out: what it wrote, cut off behind max
 * bytes. The process is freed when that returns. */
typedef void loop_capture_fn(void *ctx, int status, const struct buf *out);

/* Starts argv, with standard input from /dev/null and standard error there, too. */
int loop_capture_start(struct loop *loop, char *const *argv, char *const *env, size_t max,
                       loop_capture_fn *fn, void *ctx, struct loop_proc **ret, struct err *err);

/* Ends it at once, and nobody is told; NULL is fine. */
void loop_capture_cancel(struct loop_proc *p);

#endif
