/*
 * THREAD_BRIEF.md: what a thread is for and what it may touch, for the agent and the person in its
 * worktree.
 */
#ifndef RUN_BRIEF_H
#define RUN_BRIEF_H

#include "base/buf.h"
#include "data/thread.h"

void brief(const struct thread *t, struct buf *out);

#endif
