/*
 * The last message of an agent, added to the prompts of tasks that depend on it (`hand_on`).
 */
#ifndef RUN_AGENT_FINDINGS_H
#define RUN_AGENT_FINDINGS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct attempt;
struct run;

/* Writes the agent's last message, without secrets, beside its logs. A resume finds it there. */
int findings_keep(const struct attempt *attempt, struct err *err);

/* Appends the findings of a task's dependencies to its prompt. */
int findings_tell(const struct run *run, uint32_t task, struct buf *prompt, struct err *err);

#endif
