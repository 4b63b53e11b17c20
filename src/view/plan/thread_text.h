/*
 * The state of threads, as text and as JSON.
 */
#ifndef VIEW_PLAN_THREAD_TEXT_H
#define VIEW_PLAN_THREAD_TEXT_H

#include "base/node/node.h"
#include "threads/status/status.h"

/* A table, followed by notes that do not fit into it: conflicts, paths outside, pull requests,
 * and damaged threads. */
void thread_text(const struct thread_looks *ls, const struct threads *ts, struct buf *out);

/* Adds a text of the repository, such as a path, to a map. */
void thread_put_text(struct arena *a, struct node *map, const char *key, const char *s);

/* The same as thread_text(), as a list of maps. */
struct node *thread_encode(const struct thread_looks *ls, const struct threads *ts,
                           struct arena *a);

#endif
