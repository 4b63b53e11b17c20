/*
 * struct task_evidence: what the events of a task tell a resume, beyond the task's row in the
 * store. A fold over the events of all its attempts, oldest first.
 */
#ifndef PLAN_ENGINE_RULES_TASK_EVIDENCE_H
#define PLAN_ENGINE_RULES_TASK_EVIDENCE_H

#include "plan/engine/attempt/repair.h"
#include "plan/failure.h"
#include "plan/schedule/event.h"

#include <stdbool.h>
#include <stdint.h>

/* The session that the next attempt resumes, as task.parked, task.retried and task.continued have
 * it. */
struct next_session {
    const char *session;     /* NULL: it resumes none */
    enum repair repair;      /* it resumes for a repair */
    const char *first_start; /* the task's first start commit, before a repair moved the start */
    bool remake_workspace;   /* make its workspace again for the message ... */
    const char *remake_from; /* ... with the content of this commit; or NULL */
};

void next_session_encode(const struct next_session *next, struct arena *a, struct node *data);

struct task_evidence {
    int attempts;    /* from the row */
    bool has_landed; /* it landed ... */
    const char *landed;
    const char *committed;   /* ... from this commit of the task; NULL: unknown */
    const char *last_commit; /* its last commit in an event */
    bool stands;             /* what landed is all of its work, or its agent worked on that ... */
    bool follows_landing;    /* ... because a person resumed it (run/rework/follow_up.h) */
    int retries_used[FAILURE_COUNT_]; /* retries since its last final failure */
    int64_t parked_until;             /* ms since 1970: end of its wait for a limit; 0: no wait */
    bool waits; /* its next attempt has not begun, even if the row still shows the last one */
    struct next_session next;
    const char *resumed_session; /* the session that its last attempt resumed; or NULL */
    bool in_conflict;            /* its agent has yet to resolve a conflict */
    bool on_tip;                 /* it conflicted: start it at the tip */
    const char *unverified;      /* it failed because we could not verify this commit; or NULL */
    bool has_message;            /* a person's message waits for its agent */
    bool restarted;              /* it failed, and a person restarted it */
};

/* True if task_evidence_add() reads the data of such events. */
bool task_evidence_reads(enum event_kind kind);

/* Copies strings into the arena. */
void task_evidence_add(struct task_evidence *t, const struct event *ev, struct arena *a);

#endif
