/*
 * Finds the claimed patterns that match a common path, without comparing all pairs.
 *
 * The patterns form a tree of components. Two patterns can match a common path only if their
 * components fit one by one, so we walk the tree in parallel with itself and descend where two
 * components fit. A pattern is `open` at the component below which it matches any path: a name
 * without wildcards at its last component, a pattern with two stars at the component where these
 * begin. It may meet every pattern below that component, except patterns whose last components are
 * two different names. For the remaining pairs we compare the globs.
 */
#include "base/mem.h"
#include "plan/schedule/claims.h"

#include <stdlib.h>
#include <string.h>

#define WILDCARDS "*?[\\"

/* A claimed pattern in the order of the tree. */
struct entry {
    struct claimed *claimed;
    const char *path; /* in lower case if the file system ignores case */
    const char *tail; /* its last component if all its paths end in that name; else NULL */
    size_t tail_len;
    uint32_t open_at; /* the node at which it is open, or NO_NODE */
};

enum { NO_NODE = UINT32_MAX };

struct places {
    VEC(uint32_t) v; /* indexes of entries, ascending */
};

struct component {
    const char *name;
    size_t len, literal; /* literal: bytes before its first wildcard */
    size_t depth;        /* length of its path, with the slash */
    bool closed;
    uint32_t first, end;      /* the entries that begin with this path: [first, end) */
    uint32_t child, children; /* its children are consecutive, sorted by name */
    uint32_t wild;            /* number of children with wildcards */
    struct places open, exact;
};

struct pair {
    uint32_t a, b; /* nodes whose paths fit so far */
};

struct meeting {
    struct arena arena;
    struct entry *entries;
    size_t n;
    VEC(struct component) nodes;
    struct map tails;    /* from the last component of entries to their struct places */
    struct places loose; /* entries without a tail */
    VEC(struct pair) pairs;
    meet_fn *fn;
    void *ctx;
    bool stopped;
};

static size_t component_len(const char *s)
{
    return strcspn(s, "/");
}

static size_t literal_len(const char *s, size_t len)
{
    size_t n = strcspn(s, WILDCARDS "/");
    return n < len ? n : len;
}

/* The byte after the bracket that begins at s; NULL if it may not end in this component. */
static const char *skip_bracket(const char *s, const char *end)
{
    const char *p = s + 1;
    if (p < end && (*p == '!' || *p == '^'))
        p++;
    if (p < end && *p == ']')
        p++;
    for (; p < end && *p != ']'; p++) {
        if (*p == '\\' || *p == '[')
            return NULL;
    }
    return p < end ? p + 1 : NULL;
}

/* True if the pattern component always matches exactly one component of a path: it has no two
 * stars, and no bracket or backslash that may reach beyond it. */
static bool is_closed(const char *s, size_t len)
{
    for (const char *end = s + len; s < end;) {
        if (*s == '[')
            s = skip_bracket(s, end);
        else if (s[0] == '*' && s + 1 < end && s[1] == '*')
            s = NULL;
        else
            s += *s == '\\' ? 2 : 1;
        if (!s || s > end)
            return false;
    }
    return true;
}

/* A slash sorts before all bytes, so that paths with the same leading components are adjacent. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    int x = *a == '/' ? 1 : *a ? (unsigned char)*a + 1 : 0;
    int y = *b == '/' ? 1 : *b ? (unsigned char)*b + 1 : 0;
    return x - y;
}

static int compare_entries(const void *a, const void *b)
{
    return compare_paths(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static const char *fold_path(struct meeting *m, const char *path)
{
    char *folded = arena_str(&m->arena, path);
    for (char *s = folded; *s; s++) {
        if (*s >= 'A' && *s <= 'Z')
            *s += 'a' - 'A';
    }
    return folded;
}

/* Only a pattern with wildcards fixes the end of its paths: a name matches everything below it. */
static void find_tail(struct entry *e)
{
    if (!e->path[strcspn(e->path, WILDCARDS)])
        return;
    const char *slash = strrchr(e->path, '/'), *tail = slash ? slash + 1 : e->path;
    size_t len = strlen(tail);
    if (literal_len(tail, len) == len) {
        e->tail = tail;
        e->tail_len = len;
    }
}

static void collect_entries(struct meeting *m, struct claims *c)
{
    m->entries = mem_array(c->list.n, sizeof(*m->entries));
    for (size_t i = 0; i < c->list.n; i++) {
        struct claimed *claimed = c->list.v[i];
        if (!claimed->owners.n)
            continue;
        struct entry *e = &m->entries[m->n++];
        *e = (struct entry){.claimed = claimed, .path = claimed->path, .open_at = NO_NODE};
        if (c->fold)
            e->path = fold_path(m, claimed->path);
        find_tail(e);
    }
    if (m->n)
        qsort(m->entries, m->n, sizeof(*m->entries), compare_entries);
}

static struct places *places_of_tail(struct meeting *m, const struct entry *e)
{
    struct places *known = map_get(&m->tails, e->tail, e->tail_len);
    if (known)
        return known;
    struct places *new = arena_alloc(&m->arena, sizeof(*new));
    map_put(&m->tails, e->tail, e->tail_len, new);
    return new;
}

static void index_tails(struct meeting *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        struct entry *e = &m->entries[i];
        struct places *of = e->tail ? places_of_tail(m, e) : &m->loose;
        vec_push(&of->v, i);
    }
}

static uint32_t add_node(struct meeting *m, struct component node)
{
    vec_push(&m->nodes, node);
    return (uint32_t)(m->nodes.n - 1);
}

static bool is_wild(const struct component *node)
{
    return node->literal < node->len;
}

/* The entry belongs to the last child or to a new one. */
static void add_to_child(struct meeting *m, uint32_t parent, uint32_t entry, const char *name)
{
    size_t len = component_len(name);
    struct component *up = &m->nodes.v[parent];
    struct component *last = up->children ? &m->nodes.v[m->nodes.n - 1] : NULL;
    if (last && last->len == len && memcmp(last->name, name, len) == 0) {
        last->end = entry + 1;
        return;
    }
    struct component new = {.name = name, .len = len, .literal = literal_len(name, len)};
    new.depth = up->depth + len + 1;
    new.closed = is_closed(name, len);
    new.first = entry;
    new.end = entry + 1;
    up->child = up->children ? up->child : (uint32_t)m->nodes.n;
    up->children++;
    up->wild += is_wild(&new);
    (void)add_node(m, new);
}

static bool is_name(const char *path)
{
    return !path[strcspn(path, WILDCARDS)];
}

static bool is_two_stars(const char *name)
{
    return component_len(name) == 2 && name[0] == '*' && name[1] == '*';
}

static void place_entry(struct meeting *m, uint32_t node, uint32_t entry)
{
    struct entry *e = &m->entries[entry];
    struct component *at = &m->nodes.v[node];
    bool ends = strlen(e->path) < at->depth || !e->path[at->depth];
    if (!at->closed || (ends && is_name(e->path)) || (!ends && is_two_stars(e->path + at->depth))) {
        e->open_at = node;
        vec_push(&at->open.v, entry);
    } else if (ends) {
        vec_push(&at->exact.v, entry);
    } else {
        add_to_child(m, node, entry, e->path + at->depth);
    }
}

/* Builds the tree level by level, so that the children of a node are consecutive. */
static void grow_tree(struct meeting *m)
{
    (void)add_node(m, (struct component){.name = "", .closed = true, .end = (uint32_t)m->n});
    for (uint32_t node = 0; node < m->nodes.n; node++) {
        for (uint32_t i = m->nodes.v[node].first; i < m->nodes.v[node].end; i++)
            place_entry(m, node, i);
    }
}

static void meet(struct meeting *m, uint32_t i, uint32_t k)
{
    struct claimed *a = m->entries[i].claimed, *b = m->entries[k].claimed;
    if (!m->stopped && glob_overlap(a->glob, b->glob, NULL))
        m->stopped = !m->fn(m->ctx, a, b);
}

/* The index of the first place that is not below `from`. */
static size_t find_place(const struct places *p, uint32_t from)
{
    size_t lo = 0, hi = p->v.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->v.v[mid] < from)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The open entry `entry` meets the entries below `node`, except those that are open at `done`,
 * which it has met before: all of them or, if it is open there itself, those up to itself. */
struct open_search {
    uint32_t entry, node, done;
};

static void try_entry(struct meeting *m, const struct open_search *s, uint32_t k)
{
    if (s->done != NO_NODE && m->entries[k].open_at == s->done &&
        (m->entries[s->entry].open_at != s->done || k <= s->entry))
        return;
    meet(m, s->entry, k);
}

static void try_places(struct meeting *m, const struct open_search *s, const struct places *p)
{
    const struct component node = m->nodes.v[s->node];
    for (size_t i = find_place(p, node.first); i < p->v.n && p->v.v[i] < node.end; i++)
        try_entry(m, s, p->v.v[i]);
}

static void meet_below(struct meeting *m, const struct open_search *s)
{
    const struct entry *e = &m->entries[s->entry];
    if (e->tail) {
        try_places(m, s, map_get(&m->tails, e->tail, e->tail_len));
        try_places(m, s, &m->loose);
        return;
    }
    for (uint32_t k = m->nodes.v[s->node].first; k < m->nodes.v[s->node].end; k++)
        try_entry(m, s, k);
}

static void meet_exact(struct meeting *m, struct pair p)
{
    const struct places a = m->nodes.v[p.a].exact, b = m->nodes.v[p.b].exact;
    for (size_t i = 0; i < a.v.n; i++) {
        for (size_t k = p.a == p.b ? i + 1 : 0; k < b.v.n; k++)
            meet(m, a.v.v[i], b.v.v[k]);
    }
}

static void meet_at(struct meeting *m, struct pair p)
{
    const struct places a = m->nodes.v[p.a].open, b = m->nodes.v[p.b].open;
    for (size_t i = 0; i < a.v.n; i++)
        meet_below(m, &(struct open_search){a.v.v[i], p.b, p.a == p.b ? p.a : NO_NODE});
    for (size_t i = 0; p.a != p.b && i < b.v.n; i++)
        meet_below(m, &(struct open_search){b.v.v[i], p.a, p.a});
    meet_exact(m, p);
}

static void go_down(struct meeting *m, uint32_t a, uint32_t b)
{
    vec_push(&m->pairs, (struct pair){a, b});
}

static int compare_start(const struct component *node, const char *start, size_t len)
{
    int order = memcmp(node->name, start, node->len < len ? node->len : len);
    return order ? order : node->len < len ? -1 : 0;
}

/* The first child that does not sort before the names with this prefix. */
static uint32_t find_child(const struct meeting *m, const struct component *up, const char *start,
                           size_t len)
{
    uint32_t lo = up->child, hi = up->child + up->children;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (compare_start(&m->nodes.v[mid], start, len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* `x` has wildcards: it fits all children whose literal part begins with its own. Two siblings with
 * the same literal part find each other: skip the earlier one. */
static void fit_longer(struct meeting *m, uint32_t x, const struct component *up, bool are_siblings)
{
    const struct component node = m->nodes.v[x];
    uint32_t end = up->child + up->children;
    for (uint32_t y = find_child(m, up, node.name, node.literal); y < end; y++) {
        const struct component *other = &m->nodes.v[y];
        if (compare_start(other, node.name, node.literal) != 0)
            return;
        if (!are_siblings ||
            (y != x && (other->literal > node.literal || !is_wild(other) || y > x)))
            go_down(m, x, y);
    }
}

/* Finds the children with wildcards whose literal part is the prefix, of this length, of x's
 * literal part. */
static void fit_beginning(struct meeting *m, uint32_t x, const struct component *up, size_t len)
{
    autobuf struct buf start = BUF_INIT;
    buf_add(&start, m->nodes.v[x].name, len);
    for (const char *wildcard = WILDCARDS; *wildcard; wildcard++) {
        buf_cut(&start, len);
        buf_addch(&start, *wildcard);
        uint32_t end = up->child + up->children;
        for (uint32_t y = find_child(m, up, start.s, start.len); y < end; y++) {
            if (compare_start(&m->nodes.v[y], start.s, start.len) != 0)
                break;
            go_down(m, x, y);
        }
    }
}

static void fit_same_name(struct meeting *m, uint32_t x, const struct component *up)
{
    const struct component node = m->nodes.v[x];
    uint32_t y = find_child(m, up, node.name, node.len);
    if (y < up->child + up->children && m->nodes.v[y].len == node.len &&
        compare_start(&m->nodes.v[y], node.name, node.len) == 0)
        go_down(m, x, y);
}

/* Finds all children of `up` that fit x, which is a child of another node. */
static void fit_children(struct meeting *m, uint32_t x, const struct component *up)
{
    const struct component node = m->nodes.v[x];
    if (is_wild(&node))
        fit_longer(m, x, up, false);
    else
        fit_same_name(m, x, up);
    size_t shorter = is_wild(&node) ? node.literal : node.literal + 1;
    for (size_t len = 0; up->wild && len < shorter; len++)
        fit_beginning(m, x, up, len);
}

static void descend(struct meeting *m, struct pair p)
{
    const struct component a = m->nodes.v[p.a], b = m->nodes.v[p.b];
    const struct component *few = a.children < b.children ? &a : &b, *many = few == &a ? &b : &a;
    for (uint32_t x = few->child; x < few->child + few->children; x++) {
        if (p.a != p.b)
            fit_children(m, x, many);
        else
            go_down(m, x, x);
        if (p.a == p.b && is_wild(&m->nodes.v[x]))
            fit_longer(m, x, &a, true);
    }
}

static void release(struct meeting *m)
{
    for (size_t i = 0; i < m->nodes.n; i++) {
        vec_done(&m->nodes.v[i].open.v);
        vec_done(&m->nodes.v[i].exact.v);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->entries[i].tail)
            vec_done(&places_of_tail(m, &m->entries[i])->v);
    }
    vec_done(&m->loose.v);
    vec_done(&m->nodes);
    vec_done(&m->pairs);
    map_done(&m->tails);
    free(m->entries);
    arena_done(&m->arena);
}

void claims_meet(struct claims *c, meet_fn *fn, void *ctx)
{
    struct meeting m = {.fn = fn, .ctx = ctx};
    collect_entries(&m, c);
    index_tails(&m);
    grow_tree(&m);
    for (uint32_t i = 0; i < m.n && !m.stopped; i++)
        m.stopped = !fn(ctx, m.entries[i].claimed, m.entries[i].claimed);
    go_down(&m, 0, 0);
    while (m.pairs.n && !m.stopped) {
        struct pair next = m.pairs.v[--m.pairs.n];
        meet_at(&m, next);
        descend(&m, next);
    }
    release(&m);
}
