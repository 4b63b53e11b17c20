/*
 * struct idle: the times in which a run stood still because its engine had ended, until somebody
 * resumed it. Durations count the time between two moments without them.
 */
#ifndef VIEW_IDLE_H
#define VIEW_IDLE_H

#include "base/vec.h"
#include "plan/schedule/event.h"
#include "store/store.h"

#include <stdint.h>

struct idle_span {
    int64_t from, to; /* ms since 1970 */
};

struct idle {
    VEC(struct idle_span) spans; /* in the order of time */
};

void idle_done(struct idle *idle);

/* A run.resumed came at that time; its data (may be NULL) says how long the run stood still. */
void idle_note(struct idle *idle, int64_t time, const struct node *data);

/* Reads the pauses of a run from its events in the store. */
int idle_load(struct idle *idle, struct store *store, const char *run, struct err *err);

/* ms from one moment to another, without those in which the run stood still. */
int64_t idle_without(const struct idle *idle, int64_t from, int64_t to);

#endif
