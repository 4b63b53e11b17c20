/*
 * struct event: something that happened in a run. Every front end uses only these events.
 */
#ifndef PLAN_SCHEDULE_EVENT_H
#define PLAN_SCHEDULE_EVENT_H

#include "base/node/node.h"

#include <stdint.h>

enum event_kind {
#define EVENT(kind, name) EV_##kind,
#include "plan/schedule/event.def"
#undef EVENT
    EV_COUNT_,
};

struct event {
    int64_t seq;  /* increases by one, over all runs of a repository */
    int64_t time; /* ms since 1970 */
    enum event_kind kind;
    const char *run;
    const char *task;        /* id; NULL: the event concerns the run */
    int attempt;             /* from 1, or 0 */
    const struct node *data; /* a mapping with further details, or NULL */
};

const char *event_name(enum event_kind kind);

/* Finds the kind with this name; EV_COUNT_ if there is none: a newer program may write other
 * events.
 */
enum event_kind event_find(const char *name);

/* The event as a mapping, in the form of `--json` and of hooks. */
struct node *event_encode(const struct event *ev, struct arena *a);

#endif
