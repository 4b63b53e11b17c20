/*
 * Further work on a landed task, because a person sent its agent a message. The landing stands,
 * whatever becomes of that work. If it fails, is stopped or skipped, the task is landed as before,
 * and its failure says what became of the further work.
 */
#ifndef RUN_REWORK_FOLLOW_UP_H
#define RUN_REWORK_FOLLOW_UP_H

#include "base/node/node.h"

#include <stdint.h>

struct run;

/* The agent of a landed task is about to resume: keeps the landing. */
void follow_up_begin(struct run *run, uint32_t task);

/* Makes the task landed again, as it was before, and records that. */
void follow_up_restore(struct run *run, uint32_t task);

/* Records a final failure: the task has failed, or it is landed if this was further work. */
void follow_up_fail(struct run *run, uint32_t task, struct arena *a, struct node *data);

#endif
