/*
 * Replays the journal of the engine of a run that is gone.
 */
#ifndef RUN_RESUME_REPLAY_H
#define RUN_RESUME_REPLAY_H

#include "project/plan_file.h"
#include "run/resume/evidence.h"
#include "store/store.h"

/* Sets the past life of each task that the last engine had (plan/engine/rules/past_life.h). `was`
 * is the plan as it ran. Changes nothing if the store has no journal of an engine of this plan: an
 * earlier version began the run, or a resume died before it had saved an edited plan. */
int replay_journal(struct evidence *past, struct store *store, const char *run,
                   struct plan_file *was, struct err *err);

#endif
