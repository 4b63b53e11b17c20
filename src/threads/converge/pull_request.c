#include "threads/converge/pull_request.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "threads/brief.h"

#include <inttypes.h>
#include <string.h>

enum { TITLE_MAX = 240, BODY_MAX = 60000, GOAL_MAX = 50000, OUTSIDE_MAX = 50 };

void pull_request_title(const struct thread *t, struct buf *out)
{
    const char *goal = t->goal + strspn(t->goal, " \t\r\n");
    size_t len = strcspn(goal, "\r\n");
    buf_addf(out, "[thread-%s] ", t->id);
    text_harmless(out, goal, len);
    if (!len)
        buf_addstr(out, t->branch + strlen("refs/heads/"));
    buf_cut(out, text_fit(out->s, out->len, TITLE_MAX));
}

/* Adds a path as Markdown code, without control characters. */
static void add_code(struct buf *out, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, s);
    brief_add_code(out, safe.s);
}

static void add_paths(struct buf *out, const char *words, const struct strv *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        buf_addf(out, "- %s ", words);
        add_code(out, *paths->v[i] ? paths->v[i] : ".");
        buf_addch(out, '\n');
    }
}

static void add_requests(struct buf *out, const struct thread *t)
{
    for (size_t i = 0; i < t->requests.n; i++) {
        if (t->requests.v[i].claimed_by)
            continue;
        buf_addstr(out, "- was granted ");
        add_code(out, t->requests.v[i].path);
        buf_addch(out, '\n');
    }
}

static void add_all_paths(struct buf *out, const struct thread *t)
{
    buf_addstr(out, "\n## Paths\n\n");
    add_paths(out, "owns", &t->owns);
    add_requests(out, t);
    add_paths(out, "forbids", &t->forbids);
    if (!t->owns.n && !t->forbids.n && !t->requests.n)
        buf_addstr(out, "everything that no other thread claims\n");
}

static void add_verdict(struct buf *out, const struct own_verdict *v)
{
    size_t shown = 0;
    buf_addstr(out, "\n## Ownership\n\n");
    if (!v->outside) {
        buf_addstr(out, "All changes are within these paths.\n");
        return;
    }
    buf_addf(out, "**%zu changed %s outside of them:**\n\n", v->outside,
             v->outside == 1 ? "path is" : "paths are");
    for (size_t i = 0; i < v->paths.n && shown < OUTSIDE_MAX; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        buf_addstr(out, "- ");
        add_code(out, p->path);
        buf_addstr(out, ": ");
        own_path_describe(p, out);
        buf_addch(out, '\n');
        shown++;
    }
    if (v->outside > shown)
        buf_addf(out, "- and %zu more\n", v->outside - shown);
}

bool pull_request_depends(const struct thread *t, const char *id)
{
    for (size_t i = 0; i < t->after.n; i++) {
        if (strcmp(t->after.v[i], id) == 0)
            return true;
    }
    return false;
}

bool pull_request_follows(const struct thread *t, const struct thread *other)
{
    return pull_request_depends(t, other->id) ||
           (t->ordered && other->ordered && other->order < t->order);
}

static void add_order(struct buf *out, const struct thread *t, const struct threads *all,
                      const bool *unmerged)
{
    size_t n = 0;
    buf_addstr(out, "\n## Order\n\n");
    if (t->ordered)
        buf_addf(out, "Merge order %" PRId64 ".\n", t->order);
    for (size_t i = 0; i < all->n; i++) {
        const struct thread *other = &all->v[i];
        if (!pull_request_follows(t, other))
            continue;
        buf_addf(out, "%s- thread %s", n++ ? "" : "\nMerge after:\n\n", other->id);
        if (other->pull) {
            text_addf(out, ", %s", other->pull);
        } else if (unmerged[i]) {
            buf_addstr(out, ", which is not merged and has no pull request yet");
        }
        buf_addch(out, '\n');
    }
    if (!n)
        buf_addstr(out, "No other thread must be merged first.\n");
}

/* The length of all whole characters within `most` bytes. */
static size_t measure_fitting(const char *s, size_t len, size_t most)
{
    return len <= most ? len : text_valid(s, most);
}

void pull_request_body(const struct thread_look *l, const struct threads *all, const bool *unmerged,
                       struct buf *out)
{
    const struct thread *t = l->thread;
    size_t len = strlen(t->goal), shown = measure_fitting(t->goal, len, GOAL_MAX), start = out->len;
    buf_addstr(out, "## Goal\n\n");
    buf_add(out, t->goal, shown);
    buf_addstr(out, shown < len ? "\n[...]\n" : "\n");
    add_all_paths(out, t);
    add_order(out, t, all, unmerged);
    add_verdict(out, &l->own);
    buf_cut(out, start + measure_fitting(out->s + start, out->len - start, BODY_MAX));
}

void pull_request_harmless(const char *text, struct buf *out)
{
    while (*text) {
        size_t len = strcspn(text, "\t\r\n");
        text_harmless(out, text, len);
        text += len;
        if (*text == '\n')
            buf_addch(out, '\n');
        else if (*text == '\t')
            buf_addstr(out, "    ");
        text += *text != '\0';
    }
}
