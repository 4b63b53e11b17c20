/*
 * What a pull request says of a thread.
 */
#ifndef THREADS_CONVERGE_PULL_REQUEST_H
#define THREADS_CONVERGE_PULL_REQUEST_H

#include "threads/status/status.h"

/* "[thread-2] First line of the goal" */
void pull_request_title(const struct thread *t, struct buf *out);

/* Whether a thread depends on another, by that one's id; and whether it is to be merged after it
 * for that reason or by merge_order. */
bool pull_request_depends(const struct thread *t, const char *id);
bool pull_request_follows(const struct thread *t, const struct thread *other);

/* Goal, paths, order, whether the thread kept to its paths, and which of the others it follows.
 * `waits`, per thread: it has work that is not merged; those without a pull request are then named
 * as such. Markdown, of at most 60,000 bytes, which every forge takes. */
void pull_request_body(const struct thread_look *l, const struct threads *all, const bool *waits,
                       struct buf *out);

/* The same text as it can be pasted into a terminal: without characters that it would act on. */
void pull_request_harmless(const char *text, struct buf *out);

#endif
