/*
 * Agents that say nothing. One whose tool works may be silent as long as its time lasts; one that
 * waits for a person is told of within seconds, and ended soon, since nobody is there to answer;
 * any other is ended when it was silent for too long.
 */
#ifndef RUN_ATTEMPT_STALL_H
#define RUN_ATTEMPT_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct attempt;
struct run;

/* ms that the agent of a task may be silent: as the plan says, or else as suits its engine; 0: any
 * time. */
int64_t stall_limit(const struct run *run, uint32_t task);

/* Whether an agent waits for its model for so long that it is a limit: `waits` since when, `again`
 * until when, monotonic ms; waits_on: it tells when it has tried again, and not before. */
bool stall_is_limit(int64_t waits, int64_t again, bool waits_on, int64_t now);

/* Part of a job: the question that its agent waits with. */
struct stall {
    int64_t asked;  /* when it was first seen, monotonic ms; 0: there is none */
    char *question; /* once it was told */
    char *limit;    /* that it was stopped for */
};
void stall_done(struct stall *s);

/* To be called again and again: tells, and stops what has to be. */
void stall_look(struct attempt *job);

#endif
