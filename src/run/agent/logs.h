/*
 * Copies of an agent's logs in a folder of the user: <id>-stdout.log and <id>-stderr.log, readable
 * for the user alone, without secrets.
 */
#ifndef RUN_AGENT_LOGS_H
#define RUN_AGENT_LOGS_H

#include "base/buf.h"
#include "plan/failure.h"

#include <stddef.h>

struct attempt;
struct run;

/* If the user has such a folder: logs_begin() opens the files when an agent starts, and truncates
 * them for the first attempt of a task; logs_more() copies new output; logs_end() copies the rest.
 * An error is reported and does not fail the task. */
void logs_begin(struct attempt *attempt);
void logs_more(struct attempt *attempt);
void logs_end(struct attempt *attempt); /* does nothing before logs_begin() */

/* Removes secrets from the output of an attempt's commands in `dir`. The commands must have ended.
 * Errors are reported. */
void logs_mask(struct run *run, const char *dir);

/* The same for all attempts of a resumed run: its engine may have died before. */
void logs_mask_all(struct run *run);

/* Appends a text without secrets and control characters; each line ends with a newline. */
void logs_shown(const struct run *run, const char *s, size_t len, struct buf *out);

/* Appends the last lines of the output that explains a failure: of the verification, the setup or
 * the agent. Same format as logs_shown(). */
void logs_explain(const struct attempt *attempt, enum failure failure, struct buf *out);

/* At the end of a run that keeps no logs: deletes those of successful tasks. */
void logs_discard(struct run *run);

#endif
