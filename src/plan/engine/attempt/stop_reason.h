/*
 * Reasons for which we end the process of an attempt.
 */
#ifndef PLAN_ENGINE_ATTEMPT_STOP_REASON_H
#define PLAN_ENGINE_ATTEMPT_STOP_REASON_H

enum stop_reason {
    STOP_NONE,
    STOP_TIMEOUT,
    STOP_IDLE,
    STOP_QUESTION,
    STOP_BUDGET,
    STOP_LIMIT,
    STOP_USER
};

#endif
