/*
 * Failure classes: why a task failed. Each class has its own retry policy.
 */
#ifndef PLAN_FAILURE_H
#define PLAN_FAILURE_H

enum failure {
    FAILURE_AUTH,
    FAILURE_LIMIT,
    FAILURE_OVERLOADED,
    FAILURE_TRANSIENT,
    FAILURE_TIMEOUT,
    FAILURE_IDLE,
    FAILURE_REFUSED,
    FAILURE_CONTEXT,
    FAILURE_BUDGET,
    FAILURE_NO_CHANGE,
    FAILURE_SCOPE,
    FAILURE_VERIFY,
    FAILURE_CONFLICT,
    FAILURE_SETUP,
    FAILURE_INTERNAL,
    FAILURE_STOPPED, /* by the user, or together with the run */
    FAILURE_COUNT_,
};

/* Tasks can be retried after the classes before FAILURE_STOPPED. */
enum { FAILURE_RETRY_COUNT = FAILURE_STOPPED };

/* "auth", "limit", ...; NULL at FAILURE_COUNT_, so that it is also a list of words. */
extern const char *const failure_names[FAILURE_COUNT_ + 1];

#endif
