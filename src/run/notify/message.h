/*
 * struct notify_message: the texts about an event for its receivers.
 */
#ifndef RUN_NOTIFY_MESSAGE_H
#define RUN_NOTIFY_MESSAGE_H

#include "plan/plan.h"
#include "run/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notify_message {
    const char *event; /* its name */
    int64_t task;      /* place in the plan, or -1 */
    char *body;        /* JSON, for programs */
    char *text;        /* a sentence, for people */
};

/* on: the occasion in the plan that the event matches. */
void notify_message_init(struct notify_message *notice, const struct run *run,
                         const struct event *ev, enum notify_on on);
void notify_message_done(struct notify_message *notice);

/* The name of the run's plan, or of its file. */
char *notify_message_plan_name(const struct run *run);

/* True if a finished run did all that the user asked for. */
bool notify_message_all_well(const struct run *run);

/* For a finished run: the number of requested tasks, and of failed ones. */
size_t notify_message_total(const struct run *run);
size_t notify_message_failed(const struct run *run);

#endif
