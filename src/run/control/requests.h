/*
 * The requests of a person to a running run. A request is a mapping with `verb` and its arguments.
 * The answer is a mapping with `ok` and a sentence, `text`:
 *
 *     {"verb": "stop", "task": "auth"}  ->  {"ok": true, "text": "auth is asked to stop"}
 *
 *     stop     task, or all: true   ask its agent to end, save its work, and fail the task
 *     skip     task                 start neither the task nor those that depend on it
 *     retry    task, fresh: true    retry a failed task; fresh: restart from scratch
 *     say      task, text           give its agent a message (run/rework/request.h)
 *     pause                         start no more tasks
 *     continue                      start tasks again
 *     workers  n, or by             run up to n agents at the same time; or `by` more, or fewer
 *     budget   usd, tokens, task    raise the total budget of the run, or of one task
 *
 * A request is in the journal before we answer it. If the answer has `ends`, the run has ended: the
 * caller can repeat a refused request as for a run that is over.
 */
#ifndef RUN_CONTROL_REQUESTS_H
#define RUN_CONTROL_REQUESTS_H

#include "base/node/node.h"

struct run;

/* Carries out a request and returns the answer. */
struct node *control_act(struct run *run, const struct node *request, struct arena *a);

#endif
