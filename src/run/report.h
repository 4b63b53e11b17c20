/*
 * Reports to the engine what happened, and carries out its answer. Nothing else changes the engine.
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "base/err.h"
#include "plan/engine/engine.h"

struct run;

struct task_lanes {
    int32_t own, fallback; /* -1: none */
};
void run_engine_new(struct run *run);
void run_engine_schedule(struct run *run, size_t workers);
void run_engine_set_lanes(struct run *run, const struct task_lanes *lanes, size_t count);
void run_engine_free(struct run *run);

/* Reports an event to the engine, and carries out the actions that follow. Returns their number.
 * The others report an event that needs no more than a task, or an answer. */
size_t run_report(struct run *run, const struct engine_event *ev);
void run_report_kind(struct run *run, enum engine_event_kind kind);
void task_report(struct run *run, uint32_t task, enum engine_event_kind kind);
void task_report_if(struct run *run, uint32_t task, enum engine_event_kind kind, bool yes);

/* The caller carries out the action; false if there is none. */
bool run_ask(struct run *run, const struct engine_event *ev, struct action *ret);
/* The same for several actions. */
void run_answer(struct run *run, const struct engine_event *ev, struct actions *ret);

/* The program itself cannot continue: stops the run. */
void run_fail(struct run *run, const struct err *err);
/* Starts nothing new; lets running attempts finish. */
void run_drain(struct run *run);

/* A random number for plan/engine/attempt/retry.h. */
uint32_t retry_random(void);

#endif
