/*
 * What a person may ask of a run that goes on. A request is a mapping with the word `verb` and what
 * that needs; the answer one with `ok` and a sentence, `text`:
 *
 *     {"verb": "stop", "task": "auth"}  ->  {"ok": true, "text": "auth is asked to stop"}
 *
 *     stop     task, or all: true   it is asked to end, its work is saved, and it has failed
 *     skip     task                 it is not begun, nor is what depends on it
 *     retry    task, fresh: true    one that has failed is tried again; fresh: from its beginning
 *     say      task, text           its agent is told something more, as run/rework/request.h says
 *     pause                         nothing more is begun
 *     continue                      it is again
 *     workers  n, or by             so many agents at work at the same time; more, or fewer
 *     budget   usd, tokens, task    the run, or one task, may use that much in all
 *
 * What is asked for is in the journal before the answer is given. With `ends` the run has come to
 * its end, and what is refused can be asked of it as of one that is over.
 */
#ifndef RUN_CONTROL_REQUESTS_H
#define RUN_CONTROL_REQUESTS_H

#include "base/node/node.h"

struct run;

/* Does what is asked for, and makes the answer. */
struct node *control_act(struct run *run, const struct node *request, struct arena *a);

#endif
