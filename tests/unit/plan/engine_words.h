/*
 * The events and actions of the engine as text, for histories.
 *
 * A plan is "0 | 1 after 0 order 2 | run workers 1": its tasks with their words, and words of the
 * run. A step is "EVENT [TASK] WORD... = ACTION, ..."; without "=" no action follows. "task 0 =
 * ..." and "run = ..." check the state and the members that are set.
 */
#ifndef TESTS_UNIT_PLAN_ENGINE_WORDS_H
#define TESTS_UNIT_PLAN_ENGINE_WORDS_H

#include "plan/engine/engine.h"

enum { ENGINE_TASKS_MAX = 4, ENGINE_LANES = 2 };

/* How often each event and each action occurred. */
struct engine_counts {
    size_t events[ENGINE_EVENT_COUNT_], actions[ACTION_COUNT_];
};

struct engine_fixture {
    const char *what; /* the history */
    struct engine_counts *counts;
    struct plan plan;
    struct task tasks[ENGINE_TASKS_MAX];
    uint32_t deps[ENGINE_TASKS_MAX][ENGINE_TASKS_MAX];
    bool has_fallback[ENGINE_TASKS_MAX];
    struct problems ps;
    struct graph graph;
    struct claims claims;
    size_t workers;
    bool no_wait;
    struct engine engine;
    struct failure_outcome at_limit, outcome; /* the last answers */
    enum failure failure;
};

/* An engine for this plan. All tasks use lane 0; those with a fallback have lane 1. */
void engine_fixture_build(struct engine_fixture *f, const char *plan);
void engine_fixture_drop(struct engine_fixture *f);

/* Carries out a step, which it changes. The test fails if the answer is not the expected one. */
void engine_fixture_carry_out(struct engine_fixture *f, char *step);

/* The words of an action. */
const char *engine_action_words(enum action_kind kind);

/* Moves *at behind the word and the blanks after it. Returns false if another word is there. */
bool engine_skip_word(char **at, const char *word);

#endif
