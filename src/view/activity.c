#include "view/activity.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/clock.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

void doing_done(struct doing *d)
{
    free(d->action);
    *d = (struct doing){0};
}

void doing_set(struct doing *d, const char *action)
{
    doing_done(d);
    d->action = action ? mem_str(action) : NULL;
}

void doing_take_action(struct doing *d, const struct node *data, int64_t time)
{
    const struct node *tool = node_get(data, "tool");
    const char *until = build_string(data, "until", NULL);
    doing_set(d, build_string(data, "action", NULL));
    if (tool && tool->kind == NODE_BOOL && tool->truth)
        d->since = time - build_int(data, "ms", 0);
    if (until && clock_parse(until, &d->until))
        d->until = 0;
}

void doing_take_question(struct doing *d, const struct node *data)
{
    doing_set(d, build_string(data, "question", ""));
    d->asks = true;
}

/* In whole seconds, so that the screen stays quiet. */
/* How long already, or in what time. */
static void add_when(const struct doing *d, int64_t now, struct buf *out)
{
    if (d->since) {
        buf_addstr(out, " for ");
        text_format_seconds(out, now - d->since);
    } else if (d->until > now) {
        buf_addstr(out, " in ");
        text_format_seconds(out, d->until - now + 999);
    }
}

/* Cut to that width. */
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

void doing_text(const struct doing *d, int64_t now, size_t columns, struct buf *out)
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
