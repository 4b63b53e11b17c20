/*
 * struct activity: the current activity of an agent as text: a tool that runs long ("in Bash make
 * test for 4m"), a countdown to the next try, or the question that it is asking.
 */
#ifndef VIEW_ACTIVITY_H
#define VIEW_ACTIVITY_H

#include "base/buf.h"
#include "base/node/node.h"
#include "plan/schedule/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity {
    char *action;  /* or the question; NULL: unknown */
    int64_t since; /* start of a tool that runs long, ms since 1970; or 0 */
    int64_t until; /* time of the next try, or 0 */
    bool asks;     /* waits for a person's answer */
};
void activity_done(struct activity *d);

void activity_set(struct activity *d, const char *action); /* action: or NULL */
/* They take the data of task.action and task.waiting, and the time of the former. */
void activity_take_action(struct activity *d, const struct node *data, int64_t time);
void activity_take_question(struct activity *d, const struct node *data);
/* Takes both events, and the end of the agent; ignores all others. */
void activity_event(struct activity *d, const struct event *ev);

/* One harmless line, not wider than `columns` unless the time alone is wider. */
void activity_text(const struct activity *d, int64_t now, size_t columns, struct buf *out);

#endif
