/*
 * THREAD_BRIEF.md tells the agent and the person in a worktree what its thread is for and what it
 * may change.
 */
#ifndef THREADS_BRIEF_H
#define THREADS_BRIEF_H

#include "base/buf.h"
#include "threads/thread.h"

/* Adds text, such as a path, as Markdown code that shows it unchanged, even with backticks in it.
 */
void brief_add_code(struct buf *out, const char *s);

void brief(const struct thread *t, struct buf *out);

#endif
