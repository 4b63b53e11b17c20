/*
 * The event loop: timers, signals, children and descriptors, on libevent. loop_run() calls one
 * callback at a time.
 */
#ifndef SYS_PROC_LOOP_H
#define SYS_PROC_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct watch; /* an event that we wait for */

typedef void watch_fn(void *ctx);
typedef void child_fn(void *ctx, int status); /* status as waitpid() returns it */

struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Runs callbacks until loop_stop(). Events that happened before loop_stop() still get their
 * callback. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

/* Each returns a watch that lives until you free it. A timer calls back once after ms (again after
 * watch_again()). A child's watch calls back once, after we reaped the child. A readable descriptor
 * calls back again and again until you read it. */
struct watch *loop_timer(struct loop *loop, int64_t ms, watch_fn *fn, void *ctx);
struct watch *loop_signal(struct loop *loop, int signal, watch_fn *fn, void *ctx);
struct watch *loop_child(struct loop *loop, pid_t pid, child_fn *fn, void *ctx);
struct watch *loop_readable(struct loop *loop, int fd, watch_fn *fn, void *ctx);

void watch_again(struct watch *w, int64_t ms);
void watch_free(struct watch *w); /* NULL is fine; may be called from its own callback */

#endif
