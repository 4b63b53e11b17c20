/*
 * An attempt fails: notes the reason and reports it to the engine, which ends the attempt (end.h).
 * The attempt may be freed when these functions return.
 */
#ifndef RUN_ATTEMPT_FAIL_H
#define RUN_ATTEMPT_FAIL_H

#include "plan/engine/attempt/verdict.h"

struct attempt;
struct err;

void attempt_fail(struct attempt *attempt, enum failure failure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* With the class and the reason of a verdict. */
void attempt_fail_for(struct attempt *attempt, const struct fail_reason *why);

/* For an attempt that was stopped: by a person, the end of the run, or a budget. */
void attempt_fail_stopped(struct attempt *attempt);

/* With class internal. */
void attempt_error(struct attempt *attempt, const struct err *err);

/* Its commit conflicts, or its agent did not resolve the conflict, in these files. */
void attempt_conflicted(struct attempt *attempt, const char *files);

/* Notes why it ended, without secrets and control characters. */
void attempt_set_reason(struct attempt *attempt, enum failure failure, const char *reason);

#endif
