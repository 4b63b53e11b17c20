/*
 * Begins the next turn of a run (run/turn.h).
 */
#ifndef RUN_STATE_WAKE_H
#define RUN_STATE_WAKE_H

struct run;

void run_wake(struct run *run);

#endif
