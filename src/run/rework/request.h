/*
 * Tasks of a run that goes on, taken up again because a person wants that, and what a person says
 * to their agents. All of it is in the journal, and the words in a file, when these return.
 *
 * One that failed, is in conflict, was stopped, or was skipped by a person goes on in its session
 * (continue_session.h) or begins again; what was skipped for its sake waits again. One that waits,
 * for a limit or a retry, hears with its next attempt what was said. One whose agent is at work
 * cannot be interrupted: when the agent is done, before what it made is committed, it goes on in
 * its session with what was said meanwhile, as another attempt; so the gates come behind that.
 */
#ifndef RUN_REWORK_REQUEST_H
#define RUN_REWORK_REQUEST_H

#include "run/run_private.h"

/* What was done is appended to `text`. -1, with the reason and ERR_INPUT: it cannot be. */
int request_retry(struct run *run, uint32_t task, bool fresh, struct buf *text, struct err *err);
int request_say(struct run *run, uint32_t task, const char *words, struct buf *text,
                struct err *err);

/* The agent of an attempt is done: whether it goes on with what was said meanwhile. The job is gone
 * then. */
bool request_follow_up(struct attempt *job);

/* An attempt has failed: what was said meanwhile is for the next one. */
void request_pass_on(struct attempt *job);

#endif
