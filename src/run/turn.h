/*
 * Each turn of the run lands finished work, starts tasks and ends the run when nothing is left.
 * Signals stop or suspend it. When the result is recorded, observers may still have open work.
 */
#ifndef RUN_TURN_H
#define RUN_TURN_H

#include <stdbool.h>

struct action;
struct engine_event;
struct run;

/* These carry out actions of the engine. */
void do_publish_last(struct run *run, const struct action *a, const struct engine_event *ev);
/* Asks all agents to end. If a person stopped the run, saves the work of parked tasks. */
void do_stop_agents(struct run *run, const struct action *a, const struct engine_event *ev);
void do_kill_agents(struct run *run, const struct action *a, const struct engine_event *ev);
void do_give_up(struct run *run, const struct action *a, const struct engine_event *ev);

/* The first call asks agents to stop, the second kills them. While the run waits for observers, a
 * call ends a wait. */
void run_stop(struct run *run, int signal);

/* A turn begins when run_wake() was called, and signals are watched. */
void run_set_turns(struct run *run);
void run_watch_signals(struct run *run);

/* Waits until the observers have no open work, or gives it up. Call it when the result of the run
 * is recorded. */
void run_finish(struct run *run);

#endif
