#include "plan/streams/streams.h"

#include <stdlib.h>
#include <string.h>

/* If a path has more owners, we do not list a tie for every pair: each owner tied to the next is
 * enough to keep them together. */
enum { PAIRS_MAX = 64 };

/* Data used only while we build streams. */
struct maker {
    struct streams *s;
    uint32_t *batch_of;   /* per task */
    uint32_t *parent;     /* union-find over batches */
    struct map owns_seen; /* pairs of batches that own a common path */
};

static uint32_t *new_table(struct streams *s, size_t n)
{
    return arena_array(&s->arena, n + 1, sizeof(uint32_t));
}

static uint32_t find_root(uint32_t *parent, uint32_t b)
{
    for (; parent[b] != b; b = parent[b])
        parent[b] = parent[parent[b]];
    return b;
}

/* The first batch of a component represents it. */
static void add_tie(struct maker *m, struct tie tie)
{
    uint32_t a = find_root(m->parent, tie.early), b = find_root(m->parent, tie.late);
    vec_push(&m->s->ties, tie);
    if (a < b)
        m->parent[b] = a;
    else
        m->parent[a] = b;
}

/* `last` stores, per batch, the last batch that needed it: this removes duplicates. */
static void tie_by_dependency(struct maker *m, uint32_t b, uint32_t *last_dependant)
{
    const struct plan *plan = m->s->plan;
    const struct plan_batch *batch = &plan->batches.v[b];
    for (size_t i = 0; i < batch->n; i++) {
        const struct task *t = &plan->tasks[batch->first + i];
        for (size_t k = 0; k < t->dep_count; k++) {
            uint32_t dep = m->batch_of[t->deps[k]];
            if (dep == b || last_dependant[dep] == b + 1)
                continue;
            last_dependant[dep] = b + 1;
            add_tie(m, (struct tie){.early = dep, .late = b, .kind = TIE_DEPENDS});
        }
    }
}

static void tie_by_sequence(struct maker *m, uint32_t b)
{
    const struct plan_batch *v = m->s->plan->batches.v;
    if (b > 0 && v[b - 1].fan_out)
        add_tie(m, (struct tie){.early = b - 1, .late = b, .kind = TIE_SUMMARY});
    for (uint32_t i = b; i > 0 && !v[b].parallel; i--) {
        if (i < b || !v[i - 1].fan_out) /* else they are already tied */
            add_tie(m, (struct tie){.early = i - 1, .late = b, .kind = TIE_FOLLOWS});
        if (!v[i - 1].parallel || v[i - 1].says_order)
            break;
    }
}

static void tie_by_path(struct maker *m, const struct holder *a, const struct holder *b)
{
    uint32_t one = m->batch_of[a->task], other = m->batch_of[b->task];
    if (one == other)
        return;
    const struct holder *early = one < other ? a : b, *late = one < other ? b : a;
    const char *key =
        arena_printf(&m->s->arena, "%u-%u", one < other ? one : other, one < other ? other : one);
    if (map_put(&m->owns_seen, key, strlen(key), m))
        return;
    add_tie(m, (struct tie){.early = m->batch_of[early->task],
                            .late = m->batch_of[late->task],
                            .kind = TIE_OWNS,
                            .early_claim = early->claim,
                            .late_claim = late->claim});
}

static bool tie_owners(void *ctx, struct claimed *a, struct claimed *b)
{
    struct maker *m = ctx;
    bool all = a->owners.n <= PAIRS_MAX && b->owners.n <= PAIRS_MAX;
    for (size_t i = 0; i < a->owners.n; i++) {
        for (size_t k = a == b ? i + 1 : 0; k < b->owners.n; k++) {
            tie_by_path(m, &a->owners.v[i], &b->owners.v[k]);
            if (!all)
                break;
        }
        if (!all && a != b)
            break; /* the owners of each path are already tied to each other */
    }
    return true;
}

static int compare_ties(const void *a, const void *b)
{
    const struct tie *x = a, *y = b;
    if (x->late != y->late)
        return x->late < y->late ? -1 : 1;
    if (x->early != y->early)
        return x->early < y->early ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static void index_ties(struct streams *s)
{
    s->ties_at = new_table(s, s->batches + 1);
    s->ties_of = new_table(s, 2 * s->ties.n);
    for (size_t i = 0; i < s->ties.n; i++) {
        s->ties_at[s->ties.v[i].early + 1]++;
        s->ties_at[s->ties.v[i].late + 1]++;
    }
    for (size_t b = 1; b <= s->batches; b++)
        s->ties_at[b] += s->ties_at[b - 1];
    uint32_t *next = mem_array(s->batches + 1, sizeof(*next));
    memcpy(next, s->ties_at, s->batches * sizeof(*next));
    for (uint32_t i = 0; i < s->ties.n; i++) {
        s->ties_of[next[s->ties.v[i].early]++] = i;
        s->ties_of[next[s->ties.v[i].late]++] = i;
    }
    free(next);
}

static void find_ties(struct maker *m, struct claims *claims)
{
    struct streams *s = m->s;
    uint32_t *last_dependant = mem_array(s->batches + 1, sizeof(*last_dependant));
    for (uint32_t b = 0; b < s->batches; b++) {
        if (s->plan->batches.v[b].says_order)
            tie_by_dependency(m, b, last_dependant);
        else
            tie_by_sequence(m, b);
    }
    free(last_dependant);
    claims_meet(claims, tie_owners, m);
    if (s->ties.n)
        qsort(s->ties.v, s->ties.n, sizeof(*s->ties.v), compare_ties);
    index_ties(s);
}

enum { FRESH, OPEN, PLACED };

struct walk {
    const struct streams *s;
    uint32_t *next; /* per batch: the next tie to check */
    char *state;    /* per batch */
    VEC(uint32_t) path;
};

/* The next batch that must come before b; false if none is left. */
static bool find_predecessor(struct walk *w, uint32_t b, uint32_t *ret)
{
    const struct streams *s = w->s;
    while (w->next[b] < s->ties_at[b + 1]) {
        const struct tie *tie = &s->ties.v[s->ties_of[w->next[b]++]];
        if (tie->late == b && tie->kind != TIE_OWNS) {
            *ret = tie->early;
            return true;
        }
    }
    return false;
}

static void report_cycle(const struct streams *s, uint32_t a, uint32_t b, struct problems *ps)
{
    const struct plan_batch *v = s->plan->batches.v;
    problem_error(ps, RULE_DEPENDENCY, v[a].node,
                  "agents of batch '%s' wait for batch '%s', and the other way round", v[a].id,
                  v[b].id);
    problem_hint(ps, "a stream does one batch after the other; --by-batch does agents by agents");
}

/* Places batches in file order, but each after all that it needs. */
static int place_batches(struct walk *w, uint32_t start, size_t *placed, struct problems *ps)
{
    vec_push(&w->path, start);
    w->state[start] = OPEN;
    while (w->path.n) {
        uint32_t b = w->path.v[w->path.n - 1], before;
        if (!find_predecessor(w, b, &before)) {
            w->state[b] = PLACED;
            w->s->order[(*placed)++] = b;
            w->path.n--;
        } else if (w->state[before] == OPEN) {
            report_cycle(w->s, b, before, ps);
            return -1;
        } else if (w->state[before] == FRESH) {
            w->state[before] = OPEN;
            vec_push(&w->path, before);
        }
    }
    return 0;
}

static int order_batches(struct streams *s, struct problems *ps)
{
    struct walk w = {.s = s, .next = new_table(s, s->batches), .state = mem_alloc(s->batches + 1)};
    size_t placed = 0;
    int rc = 0;
    memcpy(w.next, s->ties_at, s->batches * sizeof(*w.next));
    s->order = new_table(s, s->batches);
    for (uint32_t b = 0; rc == 0 && b < s->batches; b++) {
        if (w.state[b] == FRESH)
            rc = place_batches(&w, b, &placed, ps);
    }
    vec_done(&w.path);
    free(w.state);
    return rc;
}

struct component {
    uint32_t first; /* its first batch */
    uint32_t stream;
    size_t n;
    int64_t weight;
};

/* Sorts the heaviest first, equals in file order. */
static int compare_components(const void *a, const void *b)
{
    const struct component *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Returns the components. Counts and weighs them first at the index of their first batch. */
static struct component *find_components(struct maker *m)
{
    struct streams *s = m->s;
    struct component *list = mem_array(s->batches + 1, sizeof(*list));
    for (uint32_t b = 0; b < s->batches; b++) {
        uint32_t first = s->component[b] = find_root(m->parent, b);
        list[first].first = first;
        list[first].weight += s->weight[b];
        s->components += list[first].n++ == 0;
    }
    size_t n = 0;
    for (uint32_t b = 0; b < s->batches; b++) {
        if (list[b].n)
            list[n++] = list[b];
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i].weight > s->heaviest_component)
            s->heaviest_component = list[i].weight;
    }
    return list;
}

struct load {
    int64_t weight;
    size_t n; /* number of batches */
};

static bool is_lighter(const struct load *a, const struct load *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->n < b->n;
}

/* Prefers, among equally heavy streams, the one with fewer batches, so that no stream stays empty
 * if there is work for it. */
static void balance_streams(struct streams *s, struct component *list, size_t n)
{
    struct load *loads = mem_array(n + 1, sizeof(*loads));
    uint32_t *stream_of = mem_array(s->batches + 1, sizeof(*stream_of));
    qsort(list, s->components, sizeof(*list), compare_components);
    for (size_t i = 0; i < s->components; i++) {
        uint32_t to = 0;
        for (uint32_t k = 1; k < n; k++) {
            if (is_lighter(&loads[k], &loads[to]))
                to = k;
        }
        loads[to].weight += list[i].weight;
        loads[to].n += list[i].n;
        stream_of[list[i].first] = to;
    }
    for (uint32_t b = 0; b < s->batches; b++)
        s->stream_of[b] = stream_of[s->component[b]];
    free(stream_of);
    free(loads);
}

static void split_by_force(struct streams *s, const struct streams_options *opts)
{
    uint32_t stream = 0;
    for (uint32_t b = 0; b < s->batches; b++) {
        if (stream < opts->split_count && b == opts->splits[stream])
            stream++;
        s->stream_of[b] = stream;
    }
}

/* a, b, ... z, aa, ab ... */
static const char *get_name(struct streams *s, size_t index)
{
    char text[8], *at = text + sizeof(text) - 1;
    *at = '\0';
    for (index++; index; index /= 26)
        *--at = (char)('a' + --index % 26);
    return arena_str(&s->arena, at);
}

/* Numbers the streams in the order of their first batches, and drops empty ones. */
static void number_streams(struct streams *s, size_t n)
{
    uint32_t *new = mem_array(n + 1, sizeof(*new));
    for (uint32_t b = 0; b < s->batches; b++) {
        uint32_t *to = &new[s->stream_of[b]];
        if (!*to)
            *to = (uint32_t)++s->n;
        s->stream_of[b] = *to - 1;
    }
    free(new);
    s->list = arena_array(&s->arena, s->n + 1, sizeof(*s->list));
    for (size_t i = 0; i < s->n; i++)
        s->list[i].id = get_name(s, i);
}

static void fill_streams(struct streams *s)
{
    for (uint32_t b = 0; b < s->batches; b++) {
        struct stream *st = &s->list[s->stream_of[b]];
        st->n++;
        st->agents += s->plan->batches.v[b].n;
        st->weight += s->weight[b];
    }
    for (size_t i = 0; i < s->n; i++) {
        struct stream *st = &s->list[i];
        st->batches = new_table(s, st->n);
        st->n = 0;
        s->heaviest = st->weight > s->heaviest ? st->weight : s->heaviest;
    }
    for (size_t i = 0; i < s->batches; i++) {
        struct stream *st = &s->list[s->stream_of[s->order[i]]];
        st->batches[st->n++] = s->order[i];
    }
    for (size_t i = 0; i < s->ties.n; i++) {
        struct tie *tie = &s->ties.v[i];
        tie->cut = s->stream_of[tie->early] != s->stream_of[tie->late];
        s->cuts += tie->cut;
    }
}

static void weigh_batches(struct maker *m, const struct graph *g)
{
    struct streams *s = m->s;
    s->estimated = g->estimated;
    s->weight = arena_array(&s->arena, s->batches + 1, sizeof(*s->weight));
    for (uint32_t b = 0; b < s->batches; b++) {
        const struct plan_batch *batch = &s->plan->batches.v[b];
        m->parent[b] = b;
        for (uint32_t i = 0; i < batch->n; i++) {
            m->batch_of[batch->first + i] = b;
            s->weight[b] += graph_weight(g, batch->first + i);
        }
        s->total += s->weight[b];
    }
}

static void divide_batches(struct maker *m, const struct streams_options *opts)
{
    struct streams *s = m->s;
    size_t wanted = opts->n ? opts->n : STREAMS_DEFAULT;
    struct component *list = find_components(m);
    size_t n = s->forced ? opts->split_count + 1 : wanted < s->batches ? wanted : s->batches;
    if (s->forced)
        split_by_force(s, opts);
    else
        balance_streams(s, list, n);
    free(list);
    number_streams(s, n);
    fill_streams(s);
    s->verdict = s->batches < STREAMS_WORTHWHILE    ? STREAMS_TOO_SMALL
                 : s->components == 1 && !s->forced ? STREAMS_ENTANGLED
                                                    : STREAMS_GAIN;
}

int streams_init(struct streams *s, const struct plan *plan, const struct graph *g,
                 struct claims *claims, const struct streams_options *opts, struct problems *ps)
{
    *s =
        (struct streams){.plan = plan, .batches = plan->batches.n, .forced = opts->split_count > 0};
    s->component = new_table(s, s->batches);
    s->stream_of = new_table(s, s->batches);
    struct maker m = {.s = s,
                      .batch_of = mem_array(plan->task_count + 1, sizeof(uint32_t)),
                      .parent = mem_array(s->batches + 1, sizeof(uint32_t))};
    weigh_batches(&m, g);
    find_ties(&m, claims);
    int rc = order_batches(s, ps);
    if (rc == 0)
        divide_batches(&m, opts);
    map_done(&m.owns_seen);
    free(m.batch_of);
    free(m.parent);
    return rc;
}

void streams_done(struct streams *s)
{
    vec_done(&s->ties);
    arena_done(&s->arena);
}

double streams_speed_up(const struct streams *s)
{
    return s->heaviest ? (double)s->total / (double)s->heaviest : 1;
}
