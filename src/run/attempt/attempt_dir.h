/*
 * The folder of an attempt, with its logs, its indexes and what the agent is told: it is below the
 * repository's, where an agent can put something else in its place.
 */
#ifndef RUN_ATTEMPT_ATTEMPT_DIR_H
#define RUN_ATTEMPT_ATTEMPT_DIR_H

#include "run/run_private.h"

/* Makes it, with the folder for what the agent makes for a while. */
int attempt_dir_make(struct attempt *job, struct err *err);

/* To be called when an agent has ended: where something else has its place, or that of a folder on
 * the way, that is put aside, the folder is made again, and job->lost_dir says so. */
void attempt_dir_check(struct attempt *job);

#endif
