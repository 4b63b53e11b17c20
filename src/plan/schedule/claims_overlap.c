/*
 * Finds the claimed patterns that match a common path, without comparing all pairs.
 *
 * The patterns form a tree of components. Two patterns can match a common path only if their
 * components fit one by one, so we walk the tree in parallel with itself and descend where two
 * components fit. A pattern is `open` at the component below which it matches any path: a name
 * without wildcards at its last component, a pattern with two stars at the component where these
 * begin. It may meet every pattern below that component.
 *
 * Many patterns differ only in one place: in the beginning or the end of a component, in the end of
 * the path, or in a name near its end. For each of these there is an index. We ask the one that
 * finds the fewest candidates, and compare the globs of the pairs that remain.
 */
#include "base/mem.h"
#include "base/text/str.h"
#include "plan/schedule/claims.h"

#include <stdlib.h>
#include <string.h>

#define WILDCARDS "*?[\\"

enum {
    NO_NODE = UINT32_MAX,
    NAMES = 3, /* so many components before the last one are indexed */
    FEW = 16,  /* so few candidates need no index */
};

struct text {
    const char *s;
    size_t len;
};

/* A claimed pattern in the order of the tree. */
struct entry {
    struct claimed *claimed;
    const char *path;         /* in lower case if the file system ignores case */
    struct text ending;       /* all its paths end in this */
    struct text names[NAMES]; /* the components before the last one, if they are names */
    uint32_t open_at;         /* the node at which it is open, or NO_NODE */
};

struct places {
    VEC(uint32_t) v; /* indexes of entries, ascending */
};

struct component {
    const char *name;
    size_t len, literal; /* literal: bytes before its first wildcard */
    size_t ending;       /* bytes after its last wildcard; 0 if it is not closed */
    size_t depth;        /* length of its path, with the slash */
    bool closed;
    uint32_t first, end;      /* the entries that begin with this path: [first, end) */
    uint32_t child, children; /* its children are consecutive, sorted by name */
    uint32_t wild;            /* number of children with wildcards */
    struct places open, exact;
    struct places by_ending; /* its children, sorted by the reverse of their endings; on demand */
};

struct pair {
    uint32_t a, b; /* nodes whose paths fit so far */
};

struct meeting {
    struct arena arena;
    struct entry *entries;
    size_t n;
    VEC(struct component) nodes;
    struct places by_ending;       /* all entries, sorted by the reverse of their endings */
    struct map by_name[NAMES];     /* from entry.names[i] to the struct places of entries */
    struct places nameless[NAMES]; /* entries without */
    VEC(struct pair) pairs;
    meet_fn *fn;
    void *ctx;
    bool stopped;
};

static size_t get_component_len(const char *s)
{
    return strcspn(s, "/");
}

static size_t get_literal_len(const char *s, size_t len)
{
    size_t n = strcspn(s, WILDCARDS "/");
    return n < len ? n : len;
}

/* The bytes after the last wildcard, or after something that may be the end of one. */
static size_t get_ending_len(const char *s, size_t len)
{
    size_t n = 0;
    while (n < len && !strchr("*?[]\\", s[len - n - 1]))
        n++;
    bool escaped = n && n < len && s[len - n - 1] == '\\';
    return escaped ? n - 1 : n;
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

static int compare_entries(const void *a, const void *b)
{
    return str_compare_paths(((const struct entry *)a)->path, ((const struct entry *)b)->path);
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

static bool is_name(const char *path)
{
    return !path[strcspn(path, WILDCARDS)];
}

/* Only a pattern with wildcards fixes the end of its paths: a name matches everything below it. Two
 * stars with their slash may match nothing. */
static void find_ending(struct entry *e)
{
    size_t len = strlen(e->path), n = is_name(e->path) ? 0 : get_ending_len(e->path, len);
    bool stars = n && n + 2 <= len && e->path[len - n] == '/' && e->path[len - n - 1] == '*';
    n -= stars;
    e->ending = (struct text){e->path + len - n, n};
}

/* Finds the names before the last component, as far as each component matches exactly one. */
static void find_names(struct entry *e)
{
    const char *end = e->path + strlen(e->path);
    if (is_name(e->path))
        return;
    for (int i = -1; i < NAMES && end > e->path; i++) {
        const char *start = end;
        while (start > e->path && start[-1] != '/')
            start--;
        size_t len = (size_t)(end - start);
        if (!is_closed(start, len))
            return;
        if (i >= 0 && get_literal_len(start, len) == len)
            e->names[i] = (struct text){start, len};
        end = start > e->path ? start - 1 : start;
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
        find_ending(e);
        find_names(e);
    }
    if (m->n)
        qsort(m->entries, m->n, sizeof(*m->entries), compare_entries);
}

/* Compares from the last byte on. */
static int compare_endings(struct text a, struct text b)
{
    for (size_t i = 1; i <= a.len && i <= b.len; i++) {
        unsigned char x = (unsigned char)a.s[a.len - i], y = (unsigned char)b.s[b.len - i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static struct text get_ending_of_entry(const struct meeting *m, uint32_t entry)
{
    return m->entries[entry].ending;
}

static struct text get_ending_of_node(const struct meeting *m, uint32_t node)
{
    const struct component *c = &m->nodes.v[node];
    return (struct text){c->name + c->len - c->ending, c->ending};
}

typedef struct text ending_fn(const struct meeting *m, uint32_t place);

struct ending_order {
    const struct meeting *m;
    ending_fn *of;
};

static int compare_places(const void *a, const void *b, void *ctx)
{
    const struct ending_order *order = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int by_text = compare_endings(order->of(order->m, x), order->of(order->m, y));
    return by_text ? by_text : (x > y) - (x < y);
}

static void sort_by_ending(const struct meeting *m, ending_fn *of, struct places *places)
{
    struct ending_order order = {m, of};
    if (places->v.n)
        qsort_r(places->v.v, places->v.n, sizeof(*places->v.v), compare_places, &order);
}

static struct places *get_places_of_name(struct meeting *m, int i, struct text name)
{
    struct places *known = map_get(&m->by_name[i], name.s, name.len);
    if (known)
        return known;
    struct places *new = arena_alloc(&m->arena, sizeof(*new));
    map_put(&m->by_name[i], name.s, name.len, new);
    return new;
}

static void index_entries(struct meeting *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct entry *e = &m->entries[i];
        vec_push(&m->by_ending.v, i);
        for (int k = 0; k < NAMES; k++) {
            struct places *of =
                e->names[k].s ? get_places_of_name(m, k, e->names[k]) : &m->nameless[k];
            vec_push(&of->v, i);
        }
    }
    sort_by_ending(m, get_ending_of_entry, &m->by_ending);
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
    size_t len = get_component_len(name);
    struct component *up = &m->nodes.v[parent];
    struct component *last = up->children ? &m->nodes.v[m->nodes.n - 1] : NULL;
    if (last && last->len == len && memcmp(last->name, name, len) == 0) {
        last->end = entry + 1;
        return;
    }
    struct component new = {.name = name, .len = len, .literal = get_literal_len(name, len)};
    new.depth = up->depth + len + 1;
    new.closed = is_closed(name, len);
    new.ending = new.closed ? get_ending_len(name, len) : 0;
    new.first = entry;
    new.end = entry + 1;
    up->child = up->children ? up->child : (uint32_t)m->nodes.n;
    up->children++;
    up->wild += is_wild(&new);
    (void)add_node(m, new);
}

static bool is_two_stars(const char *name)
{
    return get_component_len(name) == 2 && name[0] == '*' && name[1] == '*';
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

static void check_overlap(struct meeting *m, uint32_t i, uint32_t k)
{
    struct claimed *a = m->entries[i].claimed, *b = m->entries[k].claimed;
    if (!m->stopped && glob_overlap(a->glob, b->glob, NULL))
        m->stopped = !m->fn(m->ctx, a, b);
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
    check_overlap(m, s->entry, k);
}

/* A part of an index: the places [lo, hi) of `through`, or these numbers themselves. */
struct interval {
    const struct places *through;
    size_t lo, hi;
};

struct candidates {
    VEC(struct interval) v;
    size_t count;
    uint32_t first, end; /* only the places [first, end) matter; end 0: all of them */
};

static void add_interval(struct candidates *c, const struct places *through, size_t lo, size_t hi)
{
    if (lo >= hi)
        return;
    vec_push(&c->v, (struct interval){through, lo, hi});
    c->count += hi - lo;
}

/* The first one of the ascending places [lo, hi) that is not before this place. */
static size_t find_place(const struct places *p, size_t lo, size_t hi, uint32_t place)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->v.v[mid] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds those that matter of the places [lo, hi), which are ascending. */
static void add_ascending(struct candidates *c, const struct places *through, size_t lo, size_t hi)
{
    if (c->end) {
        lo = find_place(through, lo, hi, c->first);
        hi = find_place(through, lo, hi, c->end);
    }
    add_interval(c, through, lo, hi);
}

static void candidates_done(struct candidates *c)
{
    vec_done(&c->v);
}

static uint32_t get_candidate_at(const struct interval *in, size_t i)
{
    return in->through ? in->through->v.v[i] : (uint32_t)i;
}

/* Compares the end of a text with an ending: 0 if it has that ending. */
static int compare_end(struct text text, struct text ending)
{
    if (text.len > ending.len)
        text = (struct text){text.s + text.len - ending.len, ending.len};
    return compare_endings(text, ending);
}

enum bound { AT_LEAST, BEHIND_EQUAL, BEHIND_LONGER };

/* Finds the first place at or after the ending (AT_LEAST), after all texts equal to it, or after
 * all texts that end with it. */
static size_t find_bound(const struct meeting *m, const struct places *p, ending_fn *of,
                         struct text ending, enum bound bound)
{
    size_t lo = 0, hi = p->v.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct text text = of(m, p->v.v[mid]);
        int order =
            bound == BEHIND_LONGER ? compare_end(text, ending) : compare_endings(text, ending);
        if (bound == AT_LEAST ? order < 0 : order <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds those with an ending that is an end of this one; with `longer`, also those whose own ending
 * ends in this one. */
static void add_by_ending(const struct meeting *m, const struct places *p, ending_fn *of,
                          struct text ending, bool longer, struct candidates *c)
{
    for (size_t len = 0; len <= ending.len; len++) {
        struct text end = {ending.s + ending.len - len, len};
        size_t behind = find_bound(m, p, of, end, BEHIND_EQUAL);
        add_ascending(c, p, find_bound(m, p, of, end, AT_LEAST), behind);
        if (longer && len == ending.len)
            add_interval(c, p, behind, find_bound(m, p, of, end, BEHIND_LONGER));
    }
}

static void add_by_name(struct meeting *m, int i, struct text name, struct candidates *c)
{
    const struct places *same = get_places_of_name(m, i, name);
    add_ascending(c, same, 0, same->v.n);
    add_ascending(c, &m->nameless[i], 0, m->nameless[i].v.n);
}

static void keep_fewer(struct candidates *best, struct candidates *other)
{
    if (other->count < best->count) {
        struct candidates worse = *best;
        *best = *other;
        *other = worse;
    }
    candidates_done(other);
}

static void check_below(struct meeting *m, const struct open_search *s)
{
    const struct entry *e = &m->entries[s->entry];
    uint32_t first = m->nodes.v[s->node].first, end = m->nodes.v[s->node].end;
    struct candidates best = {0};
    add_interval(&best, NULL, first, end);
    if (e->ending.len && best.count > FEW) {
        struct candidates other = {.first = first, .end = end};
        add_by_ending(m, &m->by_ending, get_ending_of_entry, e->ending, true, &other);
        keep_fewer(&best, &other);
    }
    for (int i = 0; i < NAMES && best.count > FEW; i++) {
        struct candidates other = {.first = first, .end = end};
        if (!e->names[i].s)
            continue;
        add_by_name(m, i, e->names[i], &other);
        keep_fewer(&best, &other);
    }
    for (size_t i = 0; i < best.v.n; i++) {
        for (size_t k = best.v.v[i].lo; k < best.v.v[i].hi && !m->stopped; k++) {
            uint32_t place = get_candidate_at(&best.v.v[i], k);
            if (place >= first && place < end)
                try_entry(m, s, place);
        }
    }
    candidates_done(&best);
}

static void check_exact(struct meeting *m, struct pair p)
{
    const struct places a = m->nodes.v[p.a].exact, b = m->nodes.v[p.b].exact;
    for (size_t i = 0; i < a.v.n; i++) {
        for (size_t k = p.a == p.b ? i + 1 : 0; k < b.v.n; k++)
            check_overlap(m, a.v.v[i], b.v.v[k]);
    }
}

static void check_at(struct meeting *m, struct pair p)
{
    const struct places a = m->nodes.v[p.a].open, b = m->nodes.v[p.b].open;
    for (size_t i = 0; i < a.v.n; i++)
        check_below(m, &(struct open_search){a.v.v[i], p.b, p.a == p.b ? p.a : NO_NODE});
    for (size_t i = 0; p.a != p.b && i < b.v.n; i++)
        check_below(m, &(struct open_search){b.v.v[i], p.a, p.a});
    check_exact(m, p);
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

/* The first child that does not sort before the names with this prefix, or behind them. */
static uint32_t find_child(const struct meeting *m, const struct component *up, struct text start,
                           bool behind)
{
    uint32_t lo = up->child, hi = up->child + up->children;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = compare_start(&m->nodes.v[mid], start.s, start.len);
        if (behind ? order <= 0 : order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void add_by_start(const struct meeting *m, const struct component *up, struct text start,
                         struct candidates *c)
{
    add_interval(c, NULL, find_child(m, up, start, false), find_child(m, up, start, true));
}

/* Adds the children with wildcards whose literal part is the prefix, of this length, of x's literal
 * part. */
static void add_shorter(const struct meeting *m, const struct component *x,
                        const struct component *up, size_t len, struct candidates *c)
{
    autobuf struct buf start = BUF_INIT;
    buf_add(&start, x->name, len);
    for (const char *wildcard = WILDCARDS; *wildcard; wildcard++) {
        buf_cut(&start, len);
        buf_addch(&start, *wildcard);
        add_by_start(m, up, (struct text){start.s, start.len}, c);
    }
}

/* The children of `up` whose beginning fits. */
static void find_by_start(const struct meeting *m, const struct component *x,
                          const struct component *up, struct candidates *c)
{
    struct text start = {x->name, x->literal};
    uint32_t first = find_child(m, up, start, false);
    if (is_wild(x))
        add_by_start(m, up, start, c);
    else if (first < up->child + up->children && m->nodes.v[first].len == x->len) /* the same? */
        add_interval(c, NULL, first, first + 1);
    size_t shorter = is_wild(x) ? x->literal : x->literal + 1;
    for (size_t len = 0; up->wild && len < shorter; len++)
        add_shorter(m, x, up, len, c);
}

/* The children of `up` whose end fits. */
static void find_by_ending(struct meeting *m, const struct component *x, uint32_t up,
                           struct candidates *c)
{
    struct component *node = &m->nodes.v[up];
    if (!node->by_ending.v.n) {
        for (uint32_t i = 0; i < node->children; i++)
            vec_push(&node->by_ending.v, node->child + i);
        sort_by_ending(m, get_ending_of_node, &node->by_ending);
    }
    struct text ending = {x->name + x->len - x->ending, x->ending};
    add_by_ending(m, &node->by_ending, get_ending_of_node, ending, is_wild(x), c);
}

/* Cheap: what they begin and end with. */
static bool may_fit(const struct component *a, const struct component *b)
{
    size_t start = a->literal < b->literal ? a->literal : b->literal;
    struct text x = {a->name + a->len - a->ending, a->ending};
    struct text y = {b->name + b->len - b->ending, b->ending};
    if (!is_wild(a) && !is_wild(b))
        return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
    return memcmp(a->name, b->name, start) == 0 &&
           (x.len < y.len ? compare_end(y, x) : compare_end(x, y)) == 0;
}

/* Goes down to all children of `up` that fit x. If x is a child of `up` itself, it has wildcards,
 * and of two such siblings the first one finds the other. */
static void fit_children(struct meeting *m, uint32_t x, uint32_t up, bool are_siblings)
{
    const struct component node = m->nodes.v[x];
    struct candidates best = {0};
    find_by_start(m, &node, &m->nodes.v[up], &best);
    if (node.ending && best.count > FEW) {
        struct candidates other = {0};
        find_by_ending(m, &node, up, &other);
        keep_fewer(&best, &other);
    }
    for (size_t i = 0; i < best.v.n; i++) {
        for (size_t k = best.v.v[i].lo; k < best.v.v[i].hi; k++) {
            uint32_t y = get_candidate_at(&best.v.v[i], k);
            const struct component *other = &m->nodes.v[y];
            if (may_fit(&node, other) && (!are_siblings || !is_wild(other) || y > x))
                go_down(m, x, y);
        }
    }
    candidates_done(&best);
}

static void compare_children(struct meeting *m, struct pair p)
{
    const struct component a = m->nodes.v[p.a], b = m->nodes.v[p.b];
    bool swap = b.children < a.children;
    const struct component *few = swap ? &b : &a;
    for (uint32_t x = few->child; x < few->child + few->children; x++) {
        if (p.a == p.b)
            go_down(m, x, x);
        if (p.a != p.b || is_wild(&m->nodes.v[x]))
            fit_children(m, x, swap ? p.a : p.b, p.a == p.b);
    }
}

static void free_meeting(struct meeting *m)
{
    for (size_t i = 0; i < m->nodes.n; i++) {
        vec_done(&m->nodes.v[i].open.v);
        vec_done(&m->nodes.v[i].exact.v);
        vec_done(&m->nodes.v[i].by_ending.v);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        for (int k = 0; k < NAMES; k++) {
            if (m->entries[i].names[k].s)
                vec_done(&get_places_of_name(m, k, m->entries[i].names[k])->v);
        }
    }
    for (int k = 0; k < NAMES; k++) {
        vec_done(&m->nameless[k].v);
        map_done(&m->by_name[k]);
    }
    vec_done(&m->by_ending.v);
    vec_done(&m->nodes);
    vec_done(&m->pairs);
    free(m->entries);
    arena_done(&m->arena);
}

void claims_meet(struct claims *c, meet_fn *fn, void *ctx)
{
    struct meeting m = {.fn = fn, .ctx = ctx};
    collect_entries(&m, c);
    index_entries(&m);
    grow_tree(&m);
    for (uint32_t i = 0; i < m.n && !m.stopped; i++)
        m.stopped = !fn(ctx, m.entries[i].claimed, m.entries[i].claimed);
    go_down(&m, 0, 0);
    while (m.pairs.n && !m.stopped) {
        struct pair next = m.pairs.v[--m.pairs.n];
        check_at(&m, next);
        compare_children(&m, next);
    }
    free_meeting(&m);
}
