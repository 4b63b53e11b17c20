/*
 * What a pull request says of a thread.
 */
#ifndef RUN_PROPOSAL_H
#define RUN_PROPOSAL_H

#include "run/thread_look.h"

/* "[thread-2] First line of the goal" */
void proposal_title(const struct thread *t, struct buf *out);

/* Goal, paths, order, whether the thread kept to its paths, and which of the others it follows:
 * those that it depends on and those that come before it by merge_order. Markdown, of at most
 * 60,000 bytes, which every forge takes. */
void proposal_body(const struct thread_look *l, const struct threads *all, struct buf *out);

/* The same text as it can be pasted into a terminal: without characters that it would act on. */
void proposal_harmless(const char *text, struct buf *out);

#endif
