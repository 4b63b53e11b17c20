/*
 * A person retries a task of a running run, or sends a message to its agent. When these functions
 * return, the event is in the store and the message in a file.
 *
 * plan/engine/rules/request_rule.h decides how. A task that failed, conflicted, was stopped, or was
 * skipped by a person resumes its session (continue_session.h) or starts again. Tasks that were
 * skipped because of it wait again.
 */
#ifndef RUN_REWORK_REQUEST_H
#define RUN_REWORK_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/engine/rules/request_rule.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

/* Both append to `text` what they did. If the task's state does not allow it, they return -1 with
 * ERR_INPUT and the reason. */
int request_retry(struct run *run, uint32_t task, bool fresh, struct buf *text, struct err *err);
int request_say(struct run *run, uint32_t task, const char *words, struct buf *text,
                struct err *err);

/* Decides about a request of another kind. Appends to `text` what we do; if we refuse, fails with
 * ERR_INPUT and the reason. An attempt that is to be stopped has left the landing queue. */
int request_judge(struct run *run, uint32_t task, enum request_kind kind, enum request_answer *ret,
                  struct buf *text, struct err *err);

#endif
