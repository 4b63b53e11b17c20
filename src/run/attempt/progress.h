/*
 * What an agent is doing, as far as its output says, told as it changes: words of its tools, what
 * it uses, and in the end what came of it. A tool that works for long is told of again, so that
 * whoever looks can tell it from an agent that has stopped.
 */
#ifndef RUN_ATTEMPT_PROGRESS_H
#define RUN_ATTEMPT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* Part of a job: what was told last. */
struct progress {
    char *action;  /* as the agent had it; NULL: none, or it is to be told again */
    int64_t since; /* when that tool began; 0: it is none, or has answered */
    int64_t next;  /* ms of its work, at which that is told again */
    bool long_told;
};
void progress_done(struct progress *p);

/* What is new; works: the agent is still there. */
void progress_tell(struct attempt *job, bool works);

/* What it is doing is told again, although it may be the same: something else was told since. */
void progress_forget(struct attempt *job);

/* The agent has ended. */
void progress_tell_exit(struct attempt *job);

#endif
