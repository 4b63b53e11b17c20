/*
 * Failure classes: why a task did not do what it was asked, each with a retry policy of its own.
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
    FAILURE_STOPPED, /* by a person, or with the run */
    FAILURE_COUNT_,
};

/* The classes in front of that one may be tried again. */
enum { FAILURE_RETRY_COUNT = FAILURE_STOPPED };

/* "auth", "limit", ...; NULL at FAILURE_COUNT_, so that it serves as a list of words. */
extern const char *const failure_names[FAILURE_COUNT_ + 1];

#endif
