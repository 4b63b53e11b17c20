/*
 * A change of the repository's shared state (git.state_changed), in words.
 */
#ifndef VIEW_STATE_CHANGE_TEXT_H
#define VIEW_STATE_CHANGE_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"

#include <stdbool.h>

/* Whether the event's data is about such a change: the event also tells of things that failed. */
bool state_change_text_is_change(const struct node *data);

/* Appends what has changed, what was done about it and what to type: one line, harmless. */
void state_change_text(const struct node *data, struct buf *out);

/* Appends who may have done it, where several tasks may: "one of a, b". */
void state_change_text_tasks(const struct node *data, struct buf *out);

#endif
