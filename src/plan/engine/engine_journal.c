#include "plan/engine/engine_journal.h"

#include "base/mem.h"
#include "plan/engine/engine_line.h"
#include "plan/engine/engine_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1 };

/* Lists. */

static void add_run(struct buf *out, const char *separator, int32_t value, size_t count)
{
    buf_addstr(out, separator);
    engine_line_add_number(out, value);
    buf_addch(out, '*');
    engine_line_add_number(out, (int64_t)count);
}

static void add_list(struct buf *out, const char *name, const int32_t *values, size_t n)
{
    buf_addf(out, " %s=", name);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && values[end] == values[i]; end++)
            ;
        add_run(out, i ? "," : "", values[i], end - i);
    }
}

static bool read_list(struct engine_cursor *c, const char *name, int32_t max, int32_t *ret,
                      size_t n)
{
    int64_t value, count;
    if (!engine_line_skip(c, " ") || !engine_line_skip(c, name) || !engine_line_skip(c, "="))
        return false;
    for (size_t i = 0; i < n;) {
        if ((i && !engine_line_skip(c, ",")) || !engine_line_read_number(c, -1, max, &value) ||
            !engine_line_skip(c, "*") || !engine_line_read_number(c, 1, (int64_t)(n - i), &count))
            return false;
        for (; count; count--)
            ret[i++] = (int32_t)value;
    }
    return true;
}

/* The first line of a section. */

struct setup {
    int64_t workers, lanes;
    bool no_wait, *wanted;
    int32_t *own, *fallback;
};

static void done_setup(struct setup *s)
{
    free(s->wanted);
    free(s->own);
    free(s->fallback);
}

/* A number that tells plans with other tasks, or another order of them, apart. */
static int64_t identify_plan(const struct plan *plan)
{
    uint64_t hash = 0xCBF29CE484222325U;
    for (size_t t = 0; t < plan->task_count; t++) {
        for (const char *c = plan->tasks[t].id;; c++) {
            hash = (hash ^ (unsigned char)*c) * 0x100000001B3U;
            if (!*c)
                break;
        }
    }
    return (int64_t)(hash >> 1);
}

void engine_journal_begin(struct buf *out, const struct engine *e, const bool *wanted)
{
    size_t n = e->plan->task_count;
    autofree int32_t *values = mem_array(n, sizeof(*values));
    buf_addf(out, "begin format=%d plan=%" PRId64 " tasks=%zu workers=%zu no-wait=%s lanes=%zu",
             FORMAT, identify_plan(e->plan), n, e->sched.workers, e->no_wait ? "yes" : "no",
             e->lanes.count);
    for (size_t t = 0; t < n; t++)
        values[t] = !wanted || wanted[t];
    add_list(out, "wanted", values, n);
    for (size_t t = 0; t < n; t++)
        values[t] = e->tasks[t].lane;
    add_list(out, "own", values, n);
    for (size_t t = 0; t < n; t++)
        values[t] = e->tasks[t].fallback_lane;
    add_list(out, "fallback", values, n);
    buf_addch(out, '\n');
}

static bool read_numbers(struct engine_cursor *c, const struct plan *plan, struct setup *s)
{
    int64_t tasks = (int64_t)plan->task_count, id = identify_plan(plan), n;
    int64_t lanes_most = 2 * tasks + 1; /* each has one, and perhaps a fallback */
    if (!engine_line_skip(c, "begin format=") || !engine_line_read_number(c, FORMAT, FORMAT, &n) ||
        !engine_line_skip(c, " plan=") || !engine_line_read_number(c, id, id, &n) ||
        !engine_line_skip(c, " tasks=") || !engine_line_read_number(c, tasks, tasks, &n) ||
        !engine_line_skip(c, " workers=") ||
        !engine_line_read_number(c, 0, INT64_MAX, &s->workers) || !engine_line_skip(c, " no-wait="))
        return false;
    s->no_wait = engine_line_skip(c, "yes");
    return (s->no_wait || engine_line_skip(c, "no")) && engine_line_skip(c, " lanes=") &&
           engine_line_read_number(c, 1, lanes_most, &s->lanes);
}

static bool read_lists(struct engine_cursor *c, size_t tasks, struct setup *s)
{
    int32_t last = (int32_t)(s->lanes - 1);
    autofree int32_t *wanted = mem_array(tasks, sizeof(*wanted));
    if (!read_list(c, "wanted", 1, wanted, tasks) || !read_list(c, "own", last, s->own, tasks) ||
        !read_list(c, "fallback", last, s->fallback, tasks) || c->at != c->end)
        return false;
    for (size_t t = 0; t < tasks; t++) {
        if (wanted[t] < 0 || s->own[t] < 0)
            return false;
        s->wanted[t] = wanted[t];
    }
    return true;
}

static void begin_section(struct engine_replay *r, const struct setup *s)
{
    struct engine *e = r->engine;
    engine_done(e);
    engine_init(e, r->plan, s->no_wait);
    engine_schedule(e, r->graph, r->claims, (size_t)s->workers, s->wanted);
    engine_make_lanes(e, (size_t)s->lanes);
    for (uint32_t t = 0; t < r->plan->task_count; t++)
        engine_set_lanes(e, t, s->own[t], s->fallback[t]);
    r->sections++;
}

static int replay_begin(struct engine_replay *r, struct engine_cursor c, struct err *err)
{
    size_t n = r->plan->task_count;
    own_cleanup(done_setup) struct setup s = {
        .wanted = mem_array(n, sizeof(*s.wanted)),
        .own = mem_array(n, sizeof(*s.own)),
        .fallback = mem_array(n, sizeof(*s.fallback)),
    };
    if (!read_numbers(&c, r->plan, &s) || !read_lists(&c, n, &s))
        return err_set(err, ERR_ENV, "a section of the journal does not begin as it should");
    begin_section(r, &s);
    return 0;
}

/* Events. */

/* A question may change these members without an answer. */
struct traces {
    size_t open, ordered, unordered, ready;
};

static struct traces find_traces(const struct engine *e)
{
    return (struct traces){e->landing.open, e->landing.ordered.entries.n,
                           e->landing.unordered.entries.n, e->sched.ready.tasks.n};
}

static bool are_same(const struct traces *a, const struct traces *b)
{
    return a->open == b->open && a->ordered == b->ordered && a->unordered == b->unordered &&
           a->ready == b->ready;
}

bool engine_hear(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    bool asks = engine_event_parts(ev->kind) & IS_QUESTION;
    struct traces before = find_traces(e), after;
    size_t answers = ret->list.n;
    engine_event(e, ev, ret);
    after = find_traces(e);
    return !asks || ret->list.n > answers || !are_same(&before, &after);
}

/* An engine of this plan could not have had another event. */
static bool can_have(const struct engine *e, const struct engine_event *ev)
{
    bool has_task = ev->task < (int64_t)e->plan->task_count;
    bool has_lane =
        ev->kind != ENGINE_LANE_DUE || (ev->lane >= 0 && (size_t)ev->lane < e->lanes.count);
    return has_task && has_lane && (ev->kind != ENGINE_LANDING_FAILED || e->landing.unpublished.n);
}

static int replay_event(struct engine_replay *r, const char *line, size_t len, struct err *err)
{
    struct engine_event ev;
    if (engine_line_read(line, len, &ev, err))
        return -1;
    if (!r->sections || !can_have(r->engine, &ev))
        return err_set(err, ERR_ENV, "the run cannot have the event '%s' here",
                       engine_event_name(ev.kind));
    engine_event(r->engine, &ev, &r->actions);
    for (size_t i = 0; i < r->actions.list.n; i++)
        r->refused += r->actions.list.v[i].kind == DO_REFUSE;
    return 0;
}

int engine_replay_line(struct engine_replay *r, const char *line, size_t len, struct err *err)
{
    struct engine_cursor c = {line, line + len};
    r->actions.list.n = 0;
    if (engine_line_skip(&c, "begin "))
        return replay_begin(r, (struct engine_cursor){line, line + len}, err);
    return replay_event(r, line, len, err);
}

int engine_replay_text(struct engine_replay *r, const char *text, struct err *err)
{
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        if (!end)
            return err_set(err, ERR_ENV, "the last line of the journal has no end");
        if (engine_replay_line(r, text, (size_t)(end - text), err))
            return -1;
    }
    return 0;
}

void engine_replay_done(struct engine_replay *r)
{
    vec_done(&r->actions.list);
}
