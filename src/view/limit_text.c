#include "view/limit_text.h"

#include "base/node/node_build.h"
#include "base/text/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t day_ms = 24LL * 60 * 60 * 1000;

void limits_shown_done(struct limits_shown *l)
{
    vec_done(&l->list);
}

static struct limit_shown parse_limit(const struct node *data, int64_t time)
{
    struct limit_shown s = {.lane = node_get_int(data, "lane", 0),
                            .until = time + node_get_int(data, "delay_ms", 0)};
    (void)snprintf(s.engine, sizeof(s.engine), "%s", node_get_string(data, "engine", "?"));
    return s;
}

void limits_closed(struct limits_shown *l, const struct node *data)
{
    int64_t lane = node_get_int(data, "lane", 0);
    size_t kept = 0;
    for (size_t i = 0; i < l->list.n; i++) {
        if (l->list.v[i].lane != lane)
            l->list.v[kept++] = l->list.v[i];
    }
    l->list.n = kept;
}

void limits_opened(struct limits_shown *l, const struct node *data, int64_t time)
{
    limits_closed(l, data);
    vec_push(&l->list, parse_limit(data, time));
}

/* Local time. */
static void add_clock(struct buf *out, int64_t until, int64_t now)
{
    char text[32] = "";
    time_t seconds = (time_t)(until / 1000);
    struct tm tm = {0};
    if (localtime_r(&seconds, &tm))
        (void)strftime(text, sizeof(text), until - now < day_ms ? "%H:%M" : "%b %e, %H:%M", &tm);
    buf_addstr(out, text);
}

/* In whole seconds, because it is redrawn every second. */
static void add_time_left(struct buf *out, int64_t ms)
{
    if (ms <= 0)
        buf_addstr(out, "0s");
    else
        text_format_duration(out, (ms + 999) / 1000 * 1000);
}

void limit_text(const struct limit_shown *limit, size_t parked, int64_t now, struct buf *out)
{
    text_addf(out, "%s: limit until ", limit->engine);
    add_clock(out, limit->until, now);
    buf_addstr(out, ", ");
    add_time_left(out, limit->until - now);
    if (parked)
        buf_addf(out, "; %zu task%s parked", parked, parked == 1 ? "" : "s");
}

void limit_text_data(const struct node *data, int64_t time, struct buf *out)
{
    struct limit_shown s = parse_limit(data, time);
    limit_text(&s, 0, time, out);
}
