/*
 * struct activity: what an agent is doing, as it is shown: "in Bash make test for 4m" of a tool
 * that works for long, a countdown where it tries again later, the question that it waits with.
 */
#ifndef VIEW_ACTIVITY_H
#define VIEW_ACTIVITY_H

#include "base/buf.h"
#include "base/node/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity {
    char *action;  /* or the question; NULL: nothing is known */
    int64_t since; /* when the tool began that works for long, ms since 1970; or 0 */
    int64_t until; /* when it tries again, or 0 */
    bool asks;     /* a person, who is not there */
};
void activity_done(struct activity *d);

void activity_set(struct activity *d, const char *action); /* or NULL */
/* Take the data of task.action and task.waiting, and the time of the former. */
void activity_take_action(struct activity *d, const struct node *data, int64_t time);
void activity_take_question(struct activity *d, const struct node *data);

/* Harmless, on one line, and as wide as that at most where there is room for more than the time. */
void activity_text(const struct activity *d, int64_t now, size_t columns, struct buf *out);

#endif
