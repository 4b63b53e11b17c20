/*
 * The shell (src/run) reports events to the engine, and the engine answers with actions. Both are
 * values without files, processes or time: the same events lead to the same actions.
 */
#ifndef PLAN_ENGINE_ENGINE_EVENT_H
#define PLAN_ENGINE_ENGINE_EVENT_H

#include "base/vec.h"
#include "plan/engine/attempt/failure_outcome.h"
#include "plan/engine/attempt/repair.h"
#include "plan/engine/limits/budget.h"
#include "plan/engine/task_state.h"

/* The comments name the members of struct engine_event that an event uses, beside `task`. */
enum engine_event_kind {
    /* A turn of the run. Each of these asks for one action, or for none. */
    ENGINE_LANDS_NEXT,    /* DO_LAND */
    ENGINE_ABANDONS_NEXT, /* DO_ABANDON: the run has failed, nothing lands any more */
    ENGINE_STARTS_NEXT,   /* DO_START */
    ENGINE_PUBLISH_DUE,   /* now, index_bytes: DO_PUBLISH or DO_PUBLISH_LATER */
    ENGINE_TURN_ENDED,    /* facts: DO_EMPTY_POOL, DO_PUBLISH_LAST, DO_FINISH or DO_CLOSE */

    /* The run. */
    ENGINE_INTERRUPTED,    /* a signal, or a request to stop the run */
    ENGINE_BROKE,          /* the program itself cannot continue */
    ENGINE_DRAINED,        /* start nothing new */
    ENGINE_PAUSED,         /* a person pauses the run ... */
    ENGINE_CONTINUED,      /* ... or continues it */
    ENGINE_WORKERS_SET,    /* workers */
    ENGINE_WORK_BEGAN,     /* an attempt or a deletion is open ... */
    ENGINE_WORK_ENDED,     /* ... or closed */
    ENGINE_TIP_MOVED,      /* the tip has another commit, not by a landing */
    ENGINE_PUBLISHED,      /* now: the base followed, or did not */
    ENGINE_PUBLISHED_LAST, /* facts: the same, at the end of the run */
    ENGINE_RECORDED,       /* the result of the run is recorded */
    ENGINE_CLOSED,         /* observers have no open work */

    /* Limits and budgets. */
    ENGINE_LIMIT_SEEN,     /* now, random, reset: the agent of a task waits for a limit */
    ENGINE_LIMIT_RECALLED, /* now, random, reset: a resumed run knows of a limit */
    ENGINE_AGENT_SPOKE,    /* now, random: there is no limit */
    ENGINE_LANE_DUE,       /* now, random, lane: DO_WAKE_LANE's time is over */
    ENGINE_USED,           /* usage: an agent reports what it has used */
    ENGINE_USAGE_RECALLED, /* a resumed run knows what all its tasks have used */
    ENGINE_BUDGET_RAISED,  /* budget; task -1: of the run */

    /* An attempt of a task. */
    ENGINE_ATTEMPT_OPENED, /* ENGINE_WORK_BEGAN, for the attempt of a task */
    ENGINE_ATTEMPT_CLOSED,
    ENGINE_WORKSPACE_READY, /* DO_RUN_AGENT */
    ENGINE_AGENT_STARTED,
    ENGINE_WORKER_FREED,    /* the agent is done, or none is needed */
    ENGINE_FINISHED,        /* its agent is done: DO_COMMIT */
    ENGINE_NOTHING_TO_LAND, /* its agent is done, and has no change to land: DO_END_UNLANDED */
    ENGINE_WORKSPACE_MADE,  /* a new one: it has no conflict */
    ENGINE_COMPARED,        /* yes: its work would undo landed work of others */
    ENGINE_COMMITTED,
    ENGINE_QUEUED,           /* its commit waits to land */
    ENGINE_UNQUEUED,         /* a person ended that wait */
    ENGINE_MERGED,           /* its commit is merged with the tip ... */
    ENGINE_VERIFYING,        /* ... and being verified */
    ENGINE_LANDED,           /* its commit is the tip */
    ENGINE_LANDING_FAILED,   /* the tip could not move: DO_TAKE_BACK names the last landing */
    ENGINE_LANDING_RECORDED, /* the base, or only the tip, has its commit */
    ENGINE_UNCHANGED,        /* it ended well, with nothing to land */
    ENGINE_CONFLICT_FOUND,   /* its commit and the tip: DO_FAIL_CONFLICT or DO_LEAVE_CONFLICT */
    ENGINE_CONFLICTED,       /* a person has to resolve its conflict */
    ENGINE_FAILURE_FOUND,    /* DO_SAVE. ENGINE_LIMIT_MET or ENGINE_ATTEMPT_FAILED follows */
    ENGINE_LIMIT_MET, /* now, limit, random: it ended at a limit. DO_END_ATTEMPT: if it waits or
                         falls back. ENGINE_ATTEMPT_FAILED follows */
    ENGINE_ATTEMPT_FAILED,      /* failure, random: DO_END_ATTEMPT */
    ENGINE_FAILURE_CARRIED_OUT, /* outcome, class: the shell has set up what follows */
    ENGINE_FAILED,              /* the task has failed for good */
    ENGINE_SESSION_KEPT,        /* yes: in a new workspace. The next attempt resumes the session */
    ENGINE_WAITS,               /* it waits for its next attempt */
    ENGINE_WAITS_FOR_TIME,      /* ... until ENGINE_DUE */
    ENGINE_PARKED,              /* ... until its lane opens */
    ENGINE_DUE,
    ENGINE_READY, /* it may start */
    ENGINE_HELD,  /* it has not started, and waits for something else than its turn */
    ENGINE_ENDED, /* the task has ended: DO_SKIP for each task that needed it */

    /* Requests of a person. */
    ENGINE_SKIPPED,         /* the task, which has no attempt */
    ENGINE_WAIT_STOPPED,    /* its wait for a retry or a limit */
    ENGINE_RESTARTED,       /* an ended task gets another attempt ... */
    ENGINE_RESTARTED_FRESH, /* yes: at the tip. ... from scratch */
    ENGINE_TAKEN_BACK,    /* after these: DO_UNSKIP for each task that was skipped because of it */
    ENGINE_MESSAGE_WAITS, /* a message waits for its next attempt ... */
    ENGINE_MESSAGE_TOLD,  /* ... which has it now */
    ENGINE_REPAIR_BEGAN,  /* the attempt has taken the kind of its repair */
    ENGINE_FOLLOW_UP_BEGAN, /* yes: the task has landed, and its agent resumes */
    ENGINE_FOLLOW_UP_FAILED,
    ENGINE_LANDING_STANDS,  /* further work ended: the earlier landing stays */
    ENGINE_SESSION_RESUMED, /* next: how the next attempt resumes the session */

    /* A resumed run. */
    ENGINE_FOUND,           /* found: the state of a task in the store */
    ENGINE_FORGOTTEN,       /* the task starts again as new */
    ENGINE_STARTS_AT_TIP,   /* others may have landed since it began */
    ENGINE_LANDS_AGAIN,     /* its work is done: it only lands ... */
    ENGINE_NEEDS_WORKSPACE, /* ... after a worker has made its workspace again */

    ENGINE_EVENT_COUNT_,
};

/* A resumed run found this in its store. */
struct engine_found {
    enum task_state state;
    int64_t tokens_in, tokens_out;
    double usd;
    int retries_used[FAILURE_COUNT_];
    bool start_at_tip, in_conflict, follows_landing, follow_up_failed;
};

/* How the next attempt resumes the session of an ended one. */
struct engine_session {
    enum repair repair;
    bool remade;      /* in a new workspace */
    bool parked;      /* when its lane opens */
    bool has_message; /* a message waits for it */
};

/* The shell knows these facts about its own work. */
struct engine_facts {
    bool has_base, pool_filled, observers_busy;
};

struct engine_event {
    enum engine_event_kind kind;
    int64_t task; /* -1: the event is about the run */
    int64_t now;  /* ms since 1970; monotonic ms in ENGINE_PUBLISH_DUE and ENGINE_PUBLISHED */
    uint32_t random;
    union {
        bool yes;
        size_t workers;
        int32_t lane;
        int64_t index_bytes; /* of the checkout that has the base; 0: none */
        int64_t reset;       /* ms since 1970; 0: unknown */
        struct engine_facts facts;
        struct budget_report usage;
        struct budget budget;
        struct limit_facts limit;
        struct failure_facts failure;
        struct {
            struct failure_outcome outcome;
            enum failure class;
        };
        struct engine_session next;
        struct engine_found found;
    };
};

enum action_kind {
    DO_LAND,          /* yes: its commit is merged with this very tip, and verified */
    DO_ABANDON,       /* fail the attempt, which waits to land */
    DO_START,         /* start: how */
    DO_PUBLISH,       /* yes: move the base to the tip; no: only record what landed */
    DO_PUBLISH_LATER, /* ms: report ENGINE_PUBLISH_DUE then */
    DO_PUBLISH_LAST,  /* then report ENGINE_PUBLISHED_LAST */
    DO_EMPTY_POOL,    /* delete unused work trees; this adds work */
    DO_FINISH,        /* the work is over: record the result */
    DO_CLOSE,         /* nobody has open work */
    DO_WAKE,          /* begin a turn */

    DO_STOP_AGENTS, /* ask all agents to end, and save their work; yes: a person stopped the run */
    DO_KILL_AGENTS, /* and end every wait for others */
    DO_GIVE_UP,     /* do not wait for observers any longer */

    DO_REPORT_CLOSED, /* lane, reset: a limit has closed it */
    DO_REPORT_OPEN,   /* lane: the limit is over */
    DO_WAKE_LANE,     /* lane, ms: report ENGINE_LANE_DUE then */

    DO_RECORD_USAGE,
    DO_WARN_BUDGET,   /* task -1: of the run, here and in the next one */
    DO_REPORT_BUDGET, /* it is used up */
    DO_NOTE_OVERRUN,  /* overrun */
    DO_STOP_AGENT,    /* for its budget */
    DO_STOP_FOR_RUN,  /* stop all agents for the budget of the run */

    DO_RUN_AGENT,
    DO_COMMIT,         /* its work */
    DO_END_UNLANDED,   /* save its files, and end the task well */
    DO_FAIL_CONFLICT,  /* yes: tell the agent of the next attempt */
    DO_LEAVE_CONFLICT, /* leave branch and workspace for a person */
    DO_SAVE,           /* a failed attempt: save its work, and report what is known of its end */
    DO_END_ATTEMPT,    /* outcome: what follows from its failure */
    DO_TAKE_BACK,      /* the task has not landed after all */
    DO_SKIP,           /* record that the task is skipped */
    DO_UNSKIP,         /* record that it waits again */
    DO_REFUSE,         /* the task cannot have this event in its state: end the run with an error */
    ACTION_COUNT_,
};

/* How the next attempt of a task begins. */
enum task_start {
    START_NEW,      /* in a new workspace */
    START_LANDING,  /* its work is done: it makes its workspace again, and lands */
    START_RESUMED,  /* it resumes the session of the last attempt in its workspace */
    START_RESTORED, /* the same, but it makes the workspace again */
};

struct action {
    enum action_kind kind;
    int64_t task; /* -1: the run */
    union {
        bool yes;
        enum task_start start;
        enum overrun overrun;
        struct {
            int32_t lane;
            int64_t ms, reset;
        };
        struct failure_outcome outcome;
    };
};

/* Actions in the order in which to carry them out. */
struct actions {
    VEC(struct action) list;
};

#endif
