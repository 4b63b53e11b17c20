/*
 * Judges the end of a process that an attempt started, and decides what follows. The judges are
 * rows of tables, and the first that applies decides. All strings belong to the caller.
 */
#ifndef PLAN_ENGINE_ATTEMPT_VERDICT_H
#define PLAN_ENGINE_ATTEMPT_VERDICT_H

#include "base/buf.h"
#include "plan/engine/attempt/stop_reason.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Why an attempt fails: the class, and the parts of the reason in their order. A part may be
 * missing. */
struct fail_reason {
    enum failure failure;
    const char *words, *detail;
    enum { UNIT_NONE, UNIT_COUNT, UNIT_BYTES } unit; /* of `number` */
    int64_t number;
    const char *closing;
    const char *name; /* names the process, before all other parts */
};
void fail_reason_write(const struct fail_reason *why, struct buf *out);

/* How a process under a guard ended. */
struct process_end {
    enum stop_reason stopped; /* why we ended it */
    int exit_code, exit_signal;
    const char *replaced;  /* error text if something else is in the place of its folder, or NULL */
    bool printed_too_much; /* it exceeded the output limit */
    bool guard_lost;       /* its guard ended without a result */
    const char *unkillable;     /* a process that nobody could kill, or NULL */
    const char *exceeded_limit; /* "memory", "processes", or NULL */
    struct task_limits limits;
};

/* How an agent ended. The last four facts change while the caller carries out verdicts. */
struct agent_end {
    struct process_end process;
    const char *question, *limit; /* its question, or the limit, that we stopped it for */
    bool run_budget_spent;        /* otherwise we stopped it for the budget of its task */
    bool failed;                  /* as its report, exit code and standard error show: */
    enum failure failure;
    const char *reason;
    bool reports_failure;   /* its report alone says so */
    bool ended_early;       /* it stopped in the middle of its work without a failure */
    bool classifies;        /* a drop-in classifies failures */
    const char *tampered;   /* error text if it changed something outside its workspace, or NULL */
    const char *overrun;    /* by how much it exceeded a budget, or NULL */
    bool lands_over_budget; /* such work may land */
    bool read_only, hand_on;
    bool unjudged;         /* a drop-in has yet to judge its output */
    const char *judgement; /* why it failed according to that drop-in, or NULL */
    bool has_message;      /* a person's message for it is not delivered */
    bool findings_kept;    /* its last message is kept for its dependants */
};

enum agent_next {
    AGENT_FAIL_STOPPED,     /* fail: the user, or the end of the run, stopped it */
    AGENT_FAIL,             /* fail for `why` */
    AGENT_CLASSIFY,         /* fail for `why`, with the class that the drop-in makes of it */
    AGENT_ASK_JUDGE,        /* ask the drop-in, and judge again */
    AGENT_DELIVER_MESSAGE,  /* resume it with the message; if that fails, judge again */
    AGENT_KEEP_FINDINGS,    /* keep its last message, and judge again */
    AGENT_END_UNLANDED,     /* the task is done, and nothing lands */
    AGENT_STAGE_IF_COMMITS, /* commit its work if it has committed all of it itself */
    AGENT_STAGE,            /* commit its work */
};

struct agent_verdict {
    enum agent_next next;
    struct fail_reason why;
};

struct agent_verdict agent_judge(const struct agent_end *e);

/* True if the end shows that the agent's model answers, so that no limit closes its lane. */
bool agent_end_proves_lane(const struct agent_end *e);

/* How a command of the plan or a hook ended. */
struct command_end {
    struct process_end process;
    const char *name;     /* names it in a reason, such as "verification: " */
    bool overdue;         /* we ended it at its timeout */
    bool broken_first;    /* if it is broken as well, the timeout does not count */
    const char *tampered; /* error text if its task changed something outside its workspace; NULL:
                             it did not, or that does not count */
};

enum command_next {
    COMMAND_STOPPED, /* the user, the end of the run or a budget stopped it */
    COMMAND_TIMED_OUT,
    COMMAND_BROKEN,       /* something else than its own end decides: fail for `why` */
    COMMAND_CANNOT_START, /* its program is missing or cannot be executed */
    COMMAND_FAILED,       /* its exit code is not 0 */
    COMMAND_SUCCEEDED,
};

struct command_verdict {
    enum command_next next;
    struct fail_reason why;
};

struct command_verdict command_judge(const struct command_end *e);

/* True if a git that failed may have lost a race with another git, so that we read its message.
 * races: earlier such failures of the attempt. */
bool git_may_have_raced(int exit_code, enum stop_reason stopped, int races);

#endif
