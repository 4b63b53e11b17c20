#include "view/activity.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"

#include <stdlib.h>
#include <string.h>

void activity_done(struct activity *d)
{
    free(d->action);
    *d = (struct activity){0};
}

void activity_set(struct activity *d, const char *action)
{
    activity_done(d);
    d->action = action ? mem_str(action) : NULL;
}

void activity_take_action(struct activity *d, const struct node *data, int64_t time)
{
    const char *until = node_get_string(data, "until", NULL);
    activity_set(d, node_get_string(data, "action", NULL));
    if (node_get_bool(data, "tool"))
        d->since = time - node_get_int(data, "ms", 0);
    if (until && timestamp_parse(until, &d->until))
        d->until = 0;
}

void activity_take_question(struct activity *d, const struct node *data)
{
    activity_set(d, node_get_string(data, "question", ""));
    d->asks = true;
}

void activity_event(struct activity *d, const struct event *ev)
{
    if (ev->kind == EV_TASK_ACTION)
        activity_take_action(d, ev->data, ev->time);
    else if (ev->kind == EV_TASK_WAITING)
        activity_take_question(d, ev->data);
    else if (ev->kind == EV_TASK_EXITED)
        activity_set(d, NULL);
}

/* The time that it has lasted, or until it happens. */
static void add_when(const struct activity *d, int64_t now, struct buf *out)
{
    if (d->since) {
        buf_addstr(out, " for ");
        text_format_seconds(out, now - d->since);
    } else if (d->until > now) {
        buf_addstr(out, " in ");
        text_format_seconds(out, d->until - now + 999);
    }
}

/* Cuts the text to `room` columns. */
static void add_action(const char *action, size_t room, struct buf *out)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, action);
    if (text_width(safe.s, safe.len) > room) {
        buf_cut(&safe, text_fit(safe.s, safe.len, room > 3 ? room - 3 : 0));
        buf_addstr(&safe, "...");
    }
    buf_add(out, safe.s, safe.len);
}

void activity_text(const struct activity *d, int64_t now, size_t columns, struct buf *out)
{
    autobuf struct buf when = BUF_INIT;
    const char *what = d->asks ? "waits for a person: " : d->since ? "in " : "";
    if (!d->action)
        return;
    add_when(d, now, &when);
    size_t used = strlen(what) + when.len;
    buf_addstr(out, what);
    add_action(d->action, used < columns ? columns - used : 0, out);
    buf_add(out, when.s, when.len);
}
