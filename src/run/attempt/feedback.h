/*
 * The files of an attempt, and the text that tells the agent of the next attempt what failed.
 */
#ifndef RUN_ATTEMPT_FEEDBACK_H
#define RUN_ATTEMPT_FEEDBACK_H

#include "base/buf.h"

struct attempt;

/* Path of a file of the attempt. */
char *attempt_file(const struct attempt *attempt, const char *name);

/* Appends the end of a file of the attempt, without secrets, for reasons and feedback. */
void attempt_read_tail(const struct attempt *attempt, const char *name, struct buf *out);

/* Tells the agent of the next attempt what failed. */
void attempt_feedback(struct attempt *attempt, const char *what, int exit_code, const char *output);
void attempt_tell(struct attempt *attempt, const char *text); /* the same, with free text */

#endif
