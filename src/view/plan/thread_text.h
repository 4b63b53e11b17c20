/*
 * Threads as they stand, for people and for programs.
 */
#ifndef VIEW_PLAN_THREAD_TEXT_H
#define VIEW_PLAN_THREAD_TEXT_H

#include "base/node/node.h"
#include "threads/status/status.h"

/* A table, and below it what the table has no room for: conflicts, paths outside, pull requests;
 * and of the threads those that are damaged. */
void thread_text(const struct thread_looks *ls, const struct threads *ts, struct buf *out);

/* The same as a list of maps. */
struct node *thread_encode(const struct thread_looks *ls, const struct threads *ts,
                           struct arena *a);

#endif
