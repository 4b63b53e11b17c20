/*
 * THREAD_BRIEF.md: what a thread is for and what it may touch, for the agent and the person in its
 * worktree.
 */
#ifndef THREADS_BRIEF_H
#define THREADS_BRIEF_H

#include "base/buf.h"
#include "threads/thread.h"

void brief(const struct thread *t, struct buf *out);

#endif
