#include "plan/schedule/event.h"

#include "base/node/node_build.h"
#include "base/text/timestamp.h"

#include <string.h>

static const char *const names[EV_COUNT_] = {
#define EVENT(kind, name) [EV_##kind] = name,
#include "plan/schedule/event.def"
#undef EVENT
};

const char *event_name(enum event_kind kind)
{
    return names[kind];
}

enum event_kind event_find(const char *name)
{
    int kind = 0;
    while (kind < EV_COUNT_ && strcmp(names[kind], name) != 0)
        kind++;
    return (enum event_kind)kind;
}

struct node *event_encode(const struct event *ev, struct arena *a)
{
    struct node *map = node_new_map(a);
    autobuf struct buf time = BUF_INIT;
    timestamp_format(&time, ev->time);
    node_put_int(a, map, "seq", ev->seq);
    node_put_string(a, map, "time", time.s);
    node_put_string(a, map, "event", event_name(ev->kind));
    node_put_string(a, map, "run", ev->run);
    node_put_string(a, map, "task", ev->task);
    if (ev->attempt)
        node_put_int(a, map, "attempt", ev->attempt);
    if (ev->data) {
        node_each (member, ev->data) {
            struct node *copy = arena_alloc(a, sizeof(*copy));
            *copy = *member;
            node_link(map, copy, member->name);
        }
    }
    return map;
}
