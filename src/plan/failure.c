#include "plan/failure.h"

#include <stddef.h>

const char *const failure_names[FAILURE_COUNT_ + 1] = {
    [FAILURE_AUTH] = "auth",
    [FAILURE_LIMIT] = "limit",
    [FAILURE_OVERLOADED] = "overloaded",
    [FAILURE_TRANSIENT] = "transient",
    [FAILURE_TIMEOUT] = "timeout",
    [FAILURE_IDLE] = "idle",
    [FAILURE_REFUSED] = "refused",
    [FAILURE_CONTEXT] = "context",
    [FAILURE_BUDGET] = "budget",
    [FAILURE_NO_CHANGE] = "no_change",
    [FAILURE_SCOPE] = "scope",
    [FAILURE_VERIFY] = "verify",
    [FAILURE_CONFLICT] = "conflict",
    [FAILURE_SETUP] = "setup",
    [FAILURE_STOPPED] = "stopped",
    [FAILURE_INTERNAL] = "internal",
    [FAILURE_COUNT_] = NULL,
};
