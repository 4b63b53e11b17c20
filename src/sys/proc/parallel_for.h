/*
 * The same done to many things, as many at once as there are processors: in threads, since what is
 * found out is wanted here, and a thread only has to put it where it belongs.
 *
 * These are the only threads of the program, and they are gone when the call returns, so that
 * nothing else need know of them. What is done must therefore touch nothing but the thing itself,
 * and what nobody writes to meanwhile, and leave no file open. Signals are for the caller's thread
 * alone.
 */
#ifndef SYS_PROC_PARALLEL_FOR_H
#define SYS_PROC_PARALLEL_FOR_H

#include <stddef.h>

/* Does it to each thing: fn(ctx, i) for every i below n. A machine that gives no more threads makes
 * it slower, not fail. */
typedef void parallel_for_fn(void *ctx, size_t i);
void parallel_for(size_t n, parallel_for_fn *fn, void *ctx);

/* The same by so many threads at most. */
void parallel_for_by(size_t threads, size_t n, parallel_for_fn *fn, void *ctx);

#endif
