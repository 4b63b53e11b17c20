/*
 * The one event loop: timers, signals, children and descriptors, on libevent. Callbacks
 * run one at a time, from loop_run().
 */
#ifndef SYS_PROC_LOOP_H
#define SYS_PROC_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct watch; /* something that is being waited for */

typedef void watch_fn(void *ctx);
typedef void child_fn(void *ctx, int status); /* as waitpid() gives it */

struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Runs callbacks until loop_stop(); those of what has happened by then are still called. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

/* Each returns a watch that goes on until it is freed; timers fire once after ms (again with
 * watch_again), a child's watch once, when the child has ended and is reaped; what is readable is
 * told again and again until it is read. */
struct watch *loop_timer(struct loop *loop, int64_t ms, watch_fn *fn, void *ctx);
struct watch *loop_signal(struct loop *loop, int signal, watch_fn *fn, void *ctx);
struct watch *loop_child(struct loop *loop, pid_t pid, child_fn *fn, void *ctx);
struct watch *loop_readable(struct loop *loop, int fd, watch_fn *fn, void *ctx);

void watch_again(struct watch *w, int64_t ms);
void watch_free(struct watch *w); /* NULL is fine; may be called from its own callback */

#endif
