/*
 * What an agent says last, handed on to the agents whose tasks depend on its own (`hand_on`).
 */
#ifndef RUN_ATTEMPT_FINDINGS_H
#define RUN_ATTEMPT_FINDINGS_H

#include "run/run_private.h"

/* Keeps what the job's agent has said, without secrets, beside its logs: a resume finds it there.
 */
int findings_keep(const struct attempt *job, struct err *err);

/* Appends to a task's prompt what was said by those that it depends on. */
int findings_tell(const struct run *run, uint32_t task, struct buf *prompt, struct err *err);

#endif
