/*
 * The agent of an attempt: starts it, reads its output while it works, and judges its end.
 */
#ifndef RUN_AGENT_RUN_AGENT_H
#define RUN_AGENT_RUN_AGENT_H

#include "agent/agent.h"
#include "agent/output/dialect.h"
#include "agent/output_tail.h"
#include "run/agent/progress.h"
#include "run/agent/stall.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct action;
struct attempt;
struct engine_event;
struct logs_copies;
struct run;

struct agent_run {
    struct agent_report report;
    struct output_tail tail;
    struct agent_errors errors;
    struct progress progress;
    struct stall stall;
    struct logs_copies *copies;   /* copies of its logs for the user; or NULL */
    int64_t started, last_output; /* monotonic ms */
    off_t output_size;
    char *session;           /* session to resume, or NULL */
    char *brief;             /* tells the agent this instead of the task's `feedback`; or NULL */
    bool spoke_at_last_tick; /* the agent had spoken at the last tick */
    bool ended_early;        /* the agent stopped without a result: only its own commits count */
    char *overrun;           /* by how much it exceeded a budget, or NULL */
};

/* Carries out an action of the engine: the workspace is ready. */
void do_run_agent(struct run *run, const struct action *a, const struct engine_event *ev);

/* Reads the new output of its agent. True if there may be more: an agent can write faster than we
 * read. */
bool attempt_read_output(struct attempt *attempt);

#endif
