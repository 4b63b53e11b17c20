/*
 * A model of src/run: it carries out the actions of the engine, and reports random outcomes in the
 * order in which the real steps report them. history.c has shell_live().
 */
#ifndef TESTS_SIMULATE_SHELL_H
#define TESTS_SIMULATE_SHELL_H

#include "world.h"

/* answers.c */
void tell_kind(struct world *w, enum engine_event_kind kind);
void tell_task(struct world *w, uint32_t task, enum engine_event_kind kind);
void tell_if(struct world *w, uint32_t task, enum engine_event_kind kind, bool yes);
uint32_t random_number(struct world *w);
void carry_out_all(struct world *w);
void report(struct world *w, const struct engine_event *ev);
void report_kind(struct world *w, enum engine_event_kind kind);
void report_task(struct world *w, uint32_t task, enum engine_event_kind kind);
void free_worker(struct world *w, uint32_t task);
void close_attempt(struct world *w, uint32_t task);
void end_task(struct world *w, uint32_t task);
struct action take_answer(struct world *w, enum action_kind kind);

/* attempt.c */
void fail_attempt(struct world *w, uint32_t task, enum failure failure);
void conflict(struct world *w, uint32_t task);
void start_task(struct world *w, const struct action *a);
void queue_commit(struct world *w, uint32_t task);
void end_preparing(struct world *w, uint32_t task);
void let_agent_work(struct world *w, uint32_t task);
void commit(struct world *w, uint32_t task);
void end_verification(struct world *w, uint32_t task);

/* turn.c */
void publish_if_due(struct world *w);
void end_turn(struct world *w, enum engine_event_kind kind);
void do_turn(struct world *w);
void end_publication(struct world *w);

/* person.c */
void act_as_person(struct world *w);

/* death.c */
struct engine_found find_record(const struct world *w, uint32_t task);
void forget_process(struct world *w);
void die_and_resume(struct world *w);

#endif
