/*
 * Does the same work for many items at once, with one thread per processor. We use threads because
 * the results are needed in this process, and each thread only stores its own result.
 *
 * These are the only threads of the program. They end before the call returns, so no other code has
 * to know about them. The work may only touch its own item and data that nobody writes to
 * meanwhile, and it must not leave a file open. Only the caller's thread gets signals.
 */
#ifndef SYS_PROC_PARALLEL_FOR_H
#define SYS_PROC_PARALLEL_FOR_H

#include <stddef.h>

/* Calls fn(ctx, i) for every i below n. If the system allows fewer threads, it is only slower. */
typedef void parallel_for_fn(void *ctx, size_t i);
void parallel_for(size_t n, parallel_for_fn *fn, void *ctx);

/* The same with at most `threads` threads. */
void parallel_for_by(size_t threads, size_t n, parallel_for_fn *fn, void *ctx);

#endif
