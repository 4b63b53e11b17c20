#include "view/plan/thread_text.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "threads/relocate.h"

#include <string.h>

enum { BRANCH_MAX = 44, SUBJECT_MAX = 60, SHORT_ID = 10, PATHS_MAX = 5 };

/* A text as a cell: harmless, cut at `most` columns. */
static void add_cut(struct buf *out, const char *s, size_t most)
{
    size_t start = out->len;
    text_add_harmless(out, s);
    buf_cut(out, start + text_fit(out->s + start, out->len - start, most));
}

static void add_id(const struct thread_look *l, struct buf *out)
{
    add_cut(out, l->thread->id, BRANCH_MAX);
}

static void add_branch(const struct thread_look *l, struct buf *out)
{
    add_cut(out, git_short_name(l->thread->branch), BRANCH_MAX);
}

static void add_ahead(const struct thread_look *l, struct buf *out)
{
    if (!l->problem)
        buf_addf(out, "%zu", l->ahead);
}

static void add_behind(const struct thread_look *l, struct buf *out)
{
    if (!l->problem)
        buf_addf(out, "%zu", l->behind);
}

static void add_state(const struct thread_look *l, struct buf *out)
{
    if (l->problem)
        buf_addch(out, '?');
    else if (l->uncommitted.n)
        buf_addf(out, "dirty %zu", l->uncommitted.n);
    else
        buf_addstr(out, "clean");
}

static void add_merge(const struct thread_look *l, struct buf *out)
{
    static const char *const words[] = {"-", "yes", "no", "?"};
    buf_addstr(out, l->problem ? "?" : words[l->merge]);
}

static void cell_own(const struct thread_look *l, struct buf *out)
{
    if (l->problem)
        buf_addch(out, '?');
    else if (l->own.outside)
        buf_addf(out, "%zu outside", l->own.outside);
    else
        buf_addstr(out, l->own.paths.n ? "inside" : "-");
}

static void cell_pull(const struct thread_look *l, struct buf *out)
{
    const struct thread *t = l->thread;
    add_cut(out, !t->pull ? "-" : t->pull_state ? t->pull_state : "known", BRANCH_MAX);
}

static void cell_last(const struct thread_look *l, struct buf *out)
{
    if (l->problem) {
        add_cut(out, l->problem, SUBJECT_MAX);
        return;
    }
    buf_addf(out, "%.*s ", SHORT_ID, l->head);
    add_cut(out, l->subject, SUBJECT_MAX);
}

static const struct {
    const char *title;
    void (*add)(const struct thread_look *l, struct buf *out);
} columns[] = {
    {"thread", add_id},     {"branch", add_branch}, {"ahead", add_ahead},
    {"behind", add_behind}, {"state", add_state},   {"merges", add_merge},
    {"paths", cell_own},    {"pull", cell_pull},    {"last commit", cell_last},
};

enum { COLUMNS = ARRAY_LEN(columns) };

static void add_cell(const struct thread_look *l, size_t column, struct buf *out)
{
    if (l)
        columns[column].add(l, out);
    else
        buf_addstr(out, columns[column].title);
}

/* l: NULL for the titles. */
static void widen_columns(const struct thread_look *l, size_t widths[COLUMNS])
{
    for (size_t c = 0; c < COLUMNS; c++) {
        autobuf struct buf cell = BUF_INIT;
        add_cell(l, c, &cell);
        size_t width = text_width(cell.s, cell.len);
        widths[c] = width > widths[c] ? width : widths[c];
    }
}

static void add_row(const struct thread_look *l, const size_t widths[COLUMNS], struct buf *out)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        buf_addstr(out, "  ");
        size_t start = out->len;
        add_cell(l, c, out);
        if (c + 1 < COLUMNS)
            buf_addrep(out, ' ', widths[c] - text_width(out->s + start, out->len - start));
    }
    buf_addch(out, '\n');
}

static void start_note(const struct thread_look *l, struct buf *out)
{
    text_addf(out, "thread %s: ", l->thread->id);
}

static void add_paths(const struct strv *paths, struct buf *out)
{
    for (size_t i = 0; i < paths->n && i < PATHS_MAX; i++) {
        text_addf(out, "%s%s", i ? ", " : "", paths->v[i]);
    }
    if (paths->n > PATHS_MAX)
        buf_addf(out, " and %zu more", paths->n - PATHS_MAX);
    buf_addch(out, '\n');
}

/* Names each pair once, at the first of the two threads. */
static void note_overlaps(const struct thread_looks *ls, size_t i, enum thread_merge merge,
                          const char *words, struct buf *out)
{
    const struct thread_look *l = &ls->v[i];
    size_t n = 0;
    for (size_t k = 0; k < l->meetings.n; k++) {
        const struct thread_meeting *m = &l->meetings.v[k];
        if (m->merge != merge || m->other < i)
            continue;
        if (!n)
            start_note(l, out);
        text_addf(out, "%s%s", n++ ? ", " : words, ls->v[m->other].thread->id);
    }
    if (n)
        buf_addch(out, '\n');
}

static void note_wrong_branch(const struct thread_look *l, struct buf *out)
{
    if (!l->elsewhere)
        return;
    start_note(l, out);
    text_addf(out, "its worktree is on the wrong branch: %s", l->elsewhere);
    buf_addch(out, '\n');
}

/* The command that tells git about a moved worktree. */
static void note_moved(const struct thread_look *l, struct buf *out)
{
    autobuf struct buf path = BUF_INIT, repair = BUF_INIT;
    if (!thread_is_moved(l->thread, &path))
        return;
    shell_quote(&repair, "git worktree repair", path.s, NULL);
    start_note(l, out);
    buf_addstr(out, "its worktree was moved; tell git: ");
    text_harmless(out, repair.s, repair.len);
    buf_addch(out, '\n');
}

static void note_hooks(const struct thread_look *l, struct buf *out)
{
    const char *why = l->problem ? NULL : thread_hooks_off(l->thread);
    autobuf struct buf call = BUF_INIT;
    if (!why)
        return;
    start_note(l, out);
    buf_addf(out, "its commits are not checked against its paths: %s", why);
    if (thread_hooks_are_stale(l->thread)) {
        shell_quote(&call, "; to repair: cd", l->thread->path, NULL);
        buf_addstr(&call, " && anabranch own");
        text_harmless(out, call.s, call.len);
    }
    buf_addch(out, '\n');
}

static void note_outside_paths(const struct thread_look *l, struct buf *out)
{
    if (!l->own.outside)
        return;
    start_note(l, out);
    buf_addstr(out, "changes paths it does not own: ");
    own_verdict_describe(&l->own, PATHS_MAX, out);
    buf_addch(out, '\n');
}

static void note_pull(const struct thread_look *l, struct buf *out)
{
    if (!l->thread->pull)
        return;
    start_note(l, out);
    text_add_harmless(out, l->thread->pull);
    buf_addch(out, '\n');
}

static void add_notes(const struct thread_looks *ls, size_t i, struct buf *out)
{
    const struct thread_look *l = &ls->v[i];
    note_moved(l, out);
    note_wrong_branch(l, out);
    note_hooks(l, out);
    if (l->merge == THREAD_MERGE_CONFLICT) {
        start_note(l, out);
        buf_addstr(out, "conflicts with its base in ");
        add_paths(&l->conflicts, out);
    }
    note_overlaps(ls, i, THREAD_MERGE_CONFLICT, "conflicts with thread ", out);
    note_overlaps(ls, i, THREAD_MERGE_UNTESTED, "changes the same files as thread ", out);
    note_outside_paths(l, out);
    note_pull(l, out);
}

static void add_damaged(const struct thread_damaged *d, struct buf *out)
{
    text_addf(out, "thread %s: %s; %s", d->id, d->problem, d->hint);
    buf_addch(out, '\n');
}

static void add_table(const struct thread_looks *ls, struct buf *out)
{
    size_t widths[COLUMNS] = {0};
    widen_columns(NULL, widths);
    for (size_t i = 0; i < ls->n; i++)
        widen_columns(&ls->v[i], widths);
    add_row(NULL, widths, out);
    for (size_t i = 0; i < ls->n; i++)
        add_row(&ls->v[i], widths, out);
}

void thread_text(const struct thread_looks *ls, const struct threads *ts, struct buf *out)
{
    if (ls->n)
        add_table(ls, out);
    for (size_t i = 0; i < ls->n; i++)
        add_notes(ls, i, out);
    for (size_t i = 0; i < ts->damaged.n; i++)
        add_damaged(&ts->damaged.v[i], out);
}

/* JSON strings must be UTF-8. */
static const char *make_valid(struct arena *a, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    if (!s || text_valid(s, strlen(s)) == strlen(s))
        return s;
    text_add_harmless(&safe, s);
    return arena_str(a, safe.s);
}

void thread_put_text(struct arena *a, struct node *map, const char *key, const char *s)
{
    node_put_string(a, map, key, make_valid(a, s));
}

static void put_texts(struct arena *a, struct node *map, const char *key, const struct strv *list)
{
    struct node *node = node_put_list(a, map, key);
    for (size_t i = 0; i < list->n; i++)
        node_add_string(a, node, make_valid(a, list->v[i]));
}

static void put_own(struct arena *a, struct node *map, const struct own_verdict *v)
{
    struct node *list = node_put_list(a, map, "outside");
    for (size_t i = 0; i < v->paths.n; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        struct node *entry = node_add_map(a, list);
        thread_put_text(a, entry, "path", p->path);
        node_put_string(a, entry, "standing", own_standing_name(p->standing));
        node_put_string(a, entry, "whose", p->whose ? p->whose->id : NULL);
    }
}

static void put_merges(struct arena *a, struct node *map, const struct thread_looks *ls,
                       const struct thread_look *l)
{
    node_put_string(a, map, "merge", thread_merge_name(l->merge));
    put_texts(a, map, "conflicts", &l->conflicts);
    struct node *meets = node_put_list(a, map, "meets");
    for (size_t i = 0; i < l->meetings.n; i++) {
        struct node *entry = node_add_map(a, meets);
        node_put_string(a, entry, "thread", ls->v[l->meetings.v[i].other].thread->id);
        node_put_string(a, entry, "merge", thread_merge_name(l->meetings.v[i].merge));
    }
}

static void put_look(struct arena *a, struct node *map, const struct thread_look *l)
{
    node_put_string(a, map, "head", l->head);
    thread_put_text(a, map, "subject", l->subject);
    thread_put_text(a, map, "elsewhere", l->elsewhere);
    node_put_int(a, map, "ahead", (int64_t)l->ahead);
    node_put_int(a, map, "behind", (int64_t)l->behind);
    put_texts(a, map, "uncommitted", &l->uncommitted);
    put_own(a, map, &l->own);
}

static void put_moved(struct arena *a, struct node *map, const struct thread *t)
{
    autobuf struct buf path = BUF_INIT;
    if (thread_is_moved(t, &path))
        thread_put_text(a, map, "moved", path.s);
}

static void put_damaged(struct arena *a, struct node *map, const struct thread_damaged *d)
{
    thread_put_text(a, map, "id", d->id);
    thread_put_text(a, map, "path", d->path);
    thread_put_text(a, map, "problem", d->problem);
    thread_put_text(a, map, "hint", d->hint);
}

struct node *thread_encode(const struct thread_looks *ls, const struct threads *ts, struct arena *a)
{
    struct node *list = node_new_list(a);
    for (size_t i = 0; i < ls->n; i++) {
        const struct thread_look *l = &ls->v[i];
        struct node *map = node_add_map(a, list);
        node_put_string(a, map, "id", l->thread->id);
        thread_put_text(a, map, "branch", git_short_name(l->thread->branch));
        thread_put_text(a, map, "path", l->thread->path);
        thread_put_text(a, map, "problem", l->problem);
        put_moved(a, map, l->thread);
        if (!l->problem) {
            thread_put_text(a, map, "hooks_off", thread_hooks_off(l->thread));
            put_look(a, map, l);
            put_merges(a, map, ls, l);
        }
        node_put_string(a, map, "pull", l->thread->pull);
        node_put_string(a, map, "pull_state", l->thread->pull_state);
    }
    for (size_t i = 0; i < ts->damaged.n; i++)
        put_damaged(a, node_add_map(a, list), &ts->damaged.v[i]);
    return list;
}
