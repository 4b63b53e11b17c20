/*
 * A change of the repository's shared state (git.state_changed) as text.
 */
#ifndef VIEW_STATE_CHANGE_TEXT_H
#define VIEW_STATE_CHANGE_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"

#include <stdbool.h>

/* True if the event reports a change. Such events also report errors. */
bool state_change_text_is_change(const struct node *data);

/* Is it saved work of a task, whose objects and copy are gone? */
bool state_change_text_is_lost(const struct node *data);

/* Appends one harmless line: the change, our reaction, and the command to type. */
void state_change_text(const struct node *data, struct buf *out);

/* If several tasks may have made the change, appends "one of a, b". */
void state_change_text_tasks(const struct node *data, struct buf *out);

#endif
