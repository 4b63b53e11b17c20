/*
 * Title and body of a thread's pull request.
 */
#ifndef THREADS_CONVERGE_PULL_REQUEST_H
#define THREADS_CONVERGE_PULL_REQUEST_H

#include "threads/status/status.h"

/* "[thread-2] First line of the goal" */
void pull_request_title(const struct thread *t, struct buf *out);

/* True if a thread depends on another (by id); and if it must be merged after it, because it
 * depends on it or by merge_order. */
bool pull_request_depends(const struct thread *t, const char *id);
bool pull_request_follows(const struct thread *t, const struct thread *other);

/* Goal, paths, order, if the thread kept to its paths, and the threads that it comes after.
 * `unmerged`, per thread: it has unmerged work; we mention those without a pull request. Markdown
 * of at most 60,000 bytes, which every forge accepts. */
void pull_request_body(const struct thread_look *l, const struct threads *all, const bool *unmerged,
                       struct buf *out);

/* The same text without control characters, so that the user can paste it into a terminal. */
void pull_request_harmless(const char *text, struct buf *out);

#endif
