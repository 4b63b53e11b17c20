/*
 * Decisions about a task as tables. The first row that applies decides.
 *
 * A row names the states of the task and the facts that it needs. The caller sets the facts that it
 * knows. If a row depends on another one, the decision asks for it: the caller finds the answer,
 * and decides again. So we look at files and git only for the tasks that need it.
 */
#ifndef PLAN_ENGINE_RULES_DECISION_H
#define PLAN_ENGINE_RULES_DECISION_H

#include "base/buf.h"
#include "plan/engine/task_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows ask for unknown facts in this order. */
enum fact {
    FACT_SAY,             /* a person sends its agent a message; otherwise retries it */
    FACT_FRESH,           /* it is to start from scratch */
    FACT_WANTED,          /* it is a part of this run */
    FACT_NEW,             /* the run did not have it before */
    FACT_STARTED,         /* it has had an attempt in this run */
    FACT_LANDED,          /* its work is in the tip or the base */
    FACT_FOLLOWS_LANDING, /* it had landed, and a person resumed its agent */
    FACT_CHANGED,         /* the plan has changed it */
    FACT_NEED_REDONE,     /* it needs a task that runs again because of such a change */
    FACT_KEEP_FAILED,     /* failed tasks stay failed */
    FACT_RESTARTED,       /* it failed, and a person restarted it */
    FACT_MESSAGE,         /* a person's message waits for its agent */
    FACT_REPAIR,          /* its agent is to repair its work */
    FACT_SESSION_WAITS,   /* its next attempt resumes a session */
    FACT_REMADE,          /* its workspace is to be made again */
    FACT_UNVERIFIED,      /* the verification of its commit could not start */
    FACT_ABOUT_TO_LAND,   /* a resume would land or commit its work */

    FACT_FOREIGN,           /* another tool started the run and judges its tasks */
    FACT_ATTEMPT,           /* it has an attempt ... */
    FACT_WORKING,           /* ... whose agent works ... */
    FACT_STOPPED,           /* ... or that was stopped */
    FACT_LIMITED,           /* it waits for a limit */
    FACT_NEED_MISSING,      /* a task that it needs did not succeed */
    FACT_RUN_BUDGET_SPENT,  /* the run's budget is used up */
    FACT_TASK_BUDGET_SPENT, /* its own budget is used up */
    FACT_DRAINING,          /* the run starts nothing more */
    FACT_RESUMABLE,         /* its engine can resume a session that has ended */
    FACT_QUEUED,            /* its attempt waits to land */
    FACT_STOPPABLE,         /* its attempt has a process that we can stop */

    FACT_REBOOTED,      /* the machine rebooted before the files of its workspace were on disk */
    FACT_SAME_ENGINE,   /* its next attempt has the engine of the last one */
    FACT_COMMIT_EXISTS, /* git has its commit */
    FACT_HAS_COMMIT,    /* it has had a commit */
    FACT_IN_HISTORY,    /* the commit of its branch is in the tip or the base */
    FACT_WORKED_IN,     /* somebody has an unfinished merge or rebase in its workspace */
    FACT_MERGES,        /* its commit merges with the tip without a conflict */
    FACT_HALF,          /* only a part of its workspace is there */
    FACT_WHOLE,         /* its branch and its workspace are complete */
    FACT_FALLBACK,      /* it waits for a limit, and its fallback can be used instead */
    FACT_SESSION,       /* we know a session that its engine can resume */
    FACT_SALVAGED,      /* there is salvaged work of its last attempt */
    FACT_COUNT_,
};

#define FACT(name) (UINT64_C(1) << FACT_##name)

struct facts {
    uint64_t known, yes;
};

void facts_set(struct facts *f, enum fact fact, bool yes);

/* States as bits. */
#define STATE_BIT(name)   (1U << TASK_##name)
#define STATES_BEFORE_END (STATE_BIT(LANDED) - 1)

struct decision_row {
    uint64_t states;  /* 0: any */
    uint64_t yes, no; /* facts that are true, and facts that are false */
    int verdict;      /* an enum of the decision */
    const char *text; /* for people */
};

/* Finds the first row that applies to a task in this state; the last one must always apply.
 * If that depends on an unknown fact, returns NULL and sets *ret_ask to it. */
const struct decision_row *decision_find(const struct decision_row *rows, enum task_state state,
                                         const struct facts *f, enum fact *ret_ask);

/* The words of a text. */
struct decision_words {
    const char *id, *need, *run, *state;
};

/* Appends a text and replaces {id}, {need}, {run} and {state} in it. */
void decision_text(struct buf *out, const char *text, const struct decision_words *words);

#endif
