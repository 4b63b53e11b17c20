/*
 * Agents that say nothing. One whose tool works may be silent as long as its time lasts; one that
 * waits for a person is told of within seconds, and ended soon, since nobody is there to answer;
 * any other is ended when it was silent for too long.
 */
#ifndef RUN_STALL_H
#define RUN_STALL_H

#include <stdint.h>

struct job;
struct run;

/* ms that the agent of a task may be silent: as the plan says, or else as suits its engine; 0: any
 * time. */
int64_t stall_limit(const struct run *run, uint32_t task);

/* Part of a job: the question that its agent waits with. */
struct stall {
    int64_t asked;  /* when it was first seen, monotonic ms; 0: there is none */
    char *question; /* once it was told */
};
void stall_done(struct stall *s);

/* To be called again and again: tells, and stops what has to be. */
void stall_look(struct job *job);

#endif
