/*
 * struct event: one thing that happened in a run. Every front end is made from these, and from
 * these alone.
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
    int64_t seq;  /* grows by one, over all runs of a repository */
    int64_t time; /* ms since 1970 */
    enum event_kind kind;
    const char *run;
    const char *task;        /* id, or NULL where it concerns the run */
    int attempt;             /* from 1, or 0 */
    const struct node *data; /* a mapping with what else there is to say, or NULL */
};

const char *event_name(enum event_kind kind);

/* The event as a mapping, as it is shown in `--json` and sent to hooks. */
struct node *event_encode(const struct event *ev, struct arena *a);

#endif
