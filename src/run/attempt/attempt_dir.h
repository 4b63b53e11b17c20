/*
 * The folder of an attempt: its logs, indexes and prompts. It is inside the repository's git
 * folder, where an agent can replace it.
 */
#ifndef RUN_ATTEMPT_ATTEMPT_DIR_H
#define RUN_ATTEMPT_ATTEMPT_DIR_H

#include "base/err.h"

struct attempt;

/* Creates the folder and its tmp/ for the agent. */
int attempt_dir_make(struct attempt *attempt, struct err *err);

/* Called when an agent has ended. If something replaced the folder or one of its parents, moves
 * that aside, creates the folder again and sets the error text `lost_dir`. */
void attempt_dir_check(struct attempt *attempt);

#endif
