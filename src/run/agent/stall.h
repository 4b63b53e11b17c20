/*
 * Silent agents. If a tool works, its agent may be silent until its timeout. If an agent asks a
 * person, we report that within seconds and stop it soon, since nobody is there to answer. We stop
 * any other agent that is silent for too long.
 */
#ifndef RUN_AGENT_STALL_H
#define RUN_AGENT_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* Part of an attempt: the question that its agent asked. */
struct stall {
    int64_t asked;  /* when we first saw it; monotonic ms; 0: no question */
    char *question; /* set when we have reported it */
    char *limit;    /* message of the limit that we stopped it for */
};
void stall_done(struct stall *s);

/* Called at each tick: reports questions, and stops agents that take too long. */
void stall_look(struct attempt *attempt);

#endif
