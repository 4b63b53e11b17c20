/*
 * struct notify_message: what is told about an event, in the words of those who are told.
 */
#ifndef RUN_NOTIFY_MESSAGE_H
#define RUN_NOTIFY_MESSAGE_H

#include "run/run_private.h"

struct notify_message {
    const char *event; /* its name */
    int64_t task;      /* place in the plan, or -1 */
    char *body;        /* JSON, for programs */
    char *text;        /* a sentence, for people */
};

/* on: the occasion of the plan that the event is. */
void notify_message_init(struct notify_message *notice, const struct run *run,
                         const struct event *ev, enum notify_on on);
void notify_message_done(struct notify_message *notice);

/* What the run's plan is called: its name, else that of its file. */
char *notify_message_plan_name(const struct run *run);

/* Whether a finished run did all that it was asked to. */
bool notify_message_all_well(const struct run *run);

/* Of a finished run: tasks that it was asked to do, and those that failed. */
size_t notify_message_total(const struct run *run);
size_t notify_message_failed(const struct run *run);

#endif
