/*
 * Decides how a task continues after a failed attempt, in two steps. failure_at_limit() comes
 * before the work is saved, because a task that waits for a limit may keep its workspace as it is.
 * failure_outcome() comes after that.
 */
#ifndef PLAN_ENGINE_ATTEMPT_FAILURE_OUTCOME_H
#define PLAN_ENGINE_ATTEMPT_FAILURE_OUTCOME_H

#include "plan/engine/attempt/repair.h"
#include "plan/engine/attempt/retry.h"

enum outcome_kind {
    OUTCOME_FAIL,           /* the task has failed */
    OUTCOME_LEAVE_CONFLICT, /* the agent did not resolve its conflict: leave that to a person */
    OUTCOME_PARK,           /* wait for the reset of a limit */
    OUTCOME_FALL_BACK,      /* start again with the fallback, at once */
    OUTCOME_RETRY,          /* start again after a delay */
    OUTCOME_REPAIR,         /* resume the agent at once, for it to repair its work */
};

enum workspace_end {
    WORKSPACE_LEFT,      /* stays on disk */
    WORKSPACE_REMOVED,   /* before the task waits or fails */
    WORKSPACE_PASSED_ON, /* with the session, to the next attempt */
};

/* "fail", "leave-conflict", ... and "left", "removed", ...: lists that end with NULL. */
extern const char *const outcome_words[], *const workspace_end_words[];

struct failure_outcome {
    enum outcome_kind kind;
    enum repair repair;
    enum workspace_end workspace;
    int64_t delay_ms;  /* until the next attempt */
    int64_t resets_at; /* of a limit; ms since 1970; 0: unknown */
    bool closes_lane;  /* other tasks would meet the same limit */
    bool uses_retry;
    bool at_tip; /* the next attempt starts at the tip: otherwise it would conflict again */
    bool drains; /* if the task fails, the run starts nothing more */
};

/* Facts about the session of an attempt's agent. */
struct session_facts {
    bool engine_resumes; /* the engine can resume a session that ended like this */
    bool is_known;
    bool has_workspace; /* its workspace is as the agent left it, or it needs none */
    bool tampered;      /* it changed something outside its workspace: we never resume it */
};

/* An attempt has met a usage limit, in a run that goes on. */
struct limit_facts {
    bool has_fallback; /* its next attempt can use the fallback */
    int64_t reset;     /* of the limit, according to the agent; 0: unknown */
    int64_t now;       /* the engine sets it */
    struct session_facts session;
};

/* Decides whether the task waits for the limit or uses its fallback. Otherwise returns
 * OUTCOME_FAIL: the limit counts like other failures. */
struct failure_outcome failure_at_limit(const struct limit_facts *f, const struct retries *r);

struct failure_facts {
    enum failure failure;
    bool run_ends;         /* it stops, or cannot continue */
    bool by_user;          /* a person stopped the task */
    bool keeps_workspaces; /* the user wants to have those of failed tasks */
    bool has_workspace;
    bool saved;               /* everything in the workspace is safe, or it stays as it is */
    bool in_conflict;         /* the agent was resolving a conflict */
    bool verification_broken; /* it could not start: another attempt would not help */
    bool has_candidate;       /* its work was merged with what had landed */
    bool has_feedback;        /* for the agent: why the attempt failed */
    struct session_facts session;
    struct failure_outcome at_limit; /* of failure_at_limit(), with the delay; or empty */
};

struct failure_outcome failure_outcome(const struct failure_facts *f, const struct retries *r,
                                       uint32_t random);

/* We could not set up the repair: the task starts again instead. */
void failure_drop_repair(struct failure_outcome *o);

/* Decides about a commit that conflicts, or a conflict that the agent did not resolve:
 * OUTCOME_RETRY (fail the attempt, and tell its agent why), OUTCOME_FAIL (fail it) or
 * OUTCOME_LEAVE_CONFLICT. */
enum outcome_kind failure_of_conflict(bool run_ends, bool in_conflict, const struct retries *r);

#endif
