/*
 * Records what an agent does, as its output shows: its tool calls, its usage and finally its
 * result. A long tool call is reported repeatedly, so that a user can tell it from an agent that
 * hangs.
 */
#ifndef RUN_AGENT_PROGRESS_H
#define RUN_AGENT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* Part of an attempt: the last recorded action. */
struct progress {
    char *action;  /* in the agent's words; NULL: none, or record it again */
    int64_t since; /* start of that tool call; 0: no tool, or it has ended */
    int64_t next;  /* report the tool call again after this many ms */
    bool long_told;
};
void progress_done(struct progress *p);

/* Records what is new. works: the agent is still running. */
void progress_tell(struct attempt *attempt, bool works);

/* Forgets the last action, so that the same one is recorded again after another event. */
void progress_forget(struct attempt *attempt);

/* Records the end of the agent. */
void progress_tell_exit(struct attempt *attempt);

#endif
