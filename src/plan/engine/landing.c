#include "plan/engine/landing.h"

#include "base/mem.h"

#include <string.h>

enum { PAUSE_TIMES = 10, PAUSE_MIN_MS = 200, PAUSE_MAX_MS = 10000 };

/* The rate at which git goes through an index and its files. */
enum { INDEX_BYTES_PER_MS = 32 << 10 };

/* A task gets the lowest order of its dependants, so no task waits for one behind it. */
static void inherit_orders(struct landing *l, const struct plan *plan)
{
    const struct graph *g = l->graph;
    for (size_t i = g->n; i-- > 0;) {
        uint32_t t = g->order[i];
        int64_t lowest = plan->tasks[t].order == INT64_MIN ? INT64_MAX : plan->tasks[t].order;
        for (uint32_t k = g->dependents_at[t]; k < g->dependents_at[t + 1]; k++) {
            int64_t order = l->tasks[g->dependents[k]].order;
            lowest = order < lowest ? order : lowest;
        }
        l->tasks[t].order = lowest;
    }
}

static int compare_orders(const void *a, const void *b, void *ctx)
{
    const struct landing *l = ctx;
    uint32_t ta = *(const uint32_t *)a, tb = *(const uint32_t *)b;
    int64_t oa = l->tasks[ta].order, ob = l->tasks[tb].order;
    return oa != ob ? (oa < ob ? -1 : 1) : ta < tb ? -1 : ta > tb;
}

static void sort_by_order(struct landing *l, const bool *wanted)
{
    l->by_order = mem_array(l->graph->n, sizeof(*l->by_order));
    for (uint32_t t = 0; t < l->graph->n; t++) {
        l->tasks[t].place = UINT32_MAX;
        if (l->tasks[t].order != INT64_MAX && (!wanted || wanted[t]))
            l->by_order[l->order_count++] = t;
    }
    qsort_r(l->by_order, l->order_count, sizeof(*l->by_order), compare_orders, l);
    for (uint32_t i = 0; i < l->order_count; i++)
        l->tasks[l->by_order[i]].place = i;
}

void landing_init(struct landing *l, const struct plan *plan, const struct graph *graph,
                  const bool *wanted)
{
    *l = (struct landing){.graph = graph, .tasks = mem_array(graph->n, sizeof(*l->tasks))};
    inherit_orders(l, plan);
    sort_by_order(l, wanted);
}

void landing_done(struct landing *l)
{
    free(l->tasks);
    free(l->by_order);
    vec_done(&l->ordered.entries);
    vec_done(&l->unordered.entries);
    vec_done(&l->unpublished);
    vec_done(&l->publishing);
    *l = (struct landing){0};
}

static bool is_before(const struct landing_entry *a, const struct landing_entry *b)
{
    return a->order != b->order ? a->order < b->order : a->arrival < b->arrival;
}

static void push_entry(struct landing_heap *h, struct landing_entry entry)
{
    vec_push(&h->entries, entry);
    size_t at = h->entries.n - 1;
    for (; at && is_before(&entry, &h->entries.v[(at - 1) / 2]); at = (at - 1) / 2)
        h->entries.v[at] = h->entries.v[(at - 1) / 2];
    h->entries.v[at] = entry;
}

static void pop_entry(struct landing_heap *h)
{
    struct landing_entry *v = h->entries.v, last = v[--h->entries.n];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < h->entries.n; at = child) {
        if (child + 1 < h->entries.n && is_before(&v[child + 1], &v[child]))
            child++;
        if (is_before(&last, &v[child]))
            break;
        v[at] = v[child];
    }
    v[at] = last;
}

/* Drops outdated entries. Returns the first one, or NULL. */
static const struct landing_entry *find_first(const struct landing *l, struct landing_heap *h)
{
    while (h->entries.n) {
        const struct landing_entry *first = &h->entries.v[0];
        if (l->tasks[first->task].arrival == first->arrival)
            return first;
        pop_entry(h);
    }
    return NULL;
}

void landing_queue(struct landing *l, uint32_t task)
{
    struct landing_task *t = &l->tasks[task];
    t->arrival = ++l->arrivals;
    l->waiting++;
    push_entry(t->order == INT64_MAX ? &l->unordered : &l->ordered,
               (struct landing_entry){t->order, t->arrival, task});
}

bool landing_leave(struct landing *l, uint32_t task)
{
    struct landing_task *t = &l->tasks[task];
    if (!t->arrival)
        return false;
    t->arrival = 0;
    l->waiting--;
    return true;
}

bool landing_has(const struct landing *l, uint32_t task)
{
    return l->tasks[task].arrival;
}

bool landing_find_open(struct landing *l, uint32_t *ret_task)
{
    while (l->open < l->order_count && l->tasks[l->by_order[l->open]].settled)
        l->open++;
    if (l->open == l->order_count)
        return false;
    *ret_task = l->by_order[l->open];
    return true;
}

void landing_settle(struct landing *l, uint32_t task)
{
    l->tasks[task].settled = true;
}

void landing_unsettle(struct landing *l, uint32_t task)
{
    l->tasks[task].settled = false;
    if (l->tasks[task].place < l->open)
        l->open = l->tasks[task].place;
}

bool landing_next(struct landing *l, bool in_any_order, uint32_t *ret_task)
{
    uint32_t open;
    const struct landing_entry *next = find_first(l, &l->ordered);
    if (!next ||
        (!in_any_order && landing_find_open(l, &open) && next->order > l->tasks[open].order))
        next = find_first(l, &l->unordered);
    if (!next)
        return false;
    *ret_task = next->task;
    return landing_leave(l, next->task);
}

static bool has_dependants(const struct landing *l, uint32_t task)
{
    return l->graph->dependents_at[task] != l->graph->dependents_at[task + 1];
}

void landing_land(struct landing *l, uint32_t task)
{
    vec_push(&l->unpublished, task);
    l->awaited += has_dependants(l, task);
    landing_settle(l, task);
}

uint32_t landing_undo(struct landing *l)
{
    uint32_t task = l->unpublished.v[--l->unpublished.n];
    l->awaited -= has_dependants(l, task);
    landing_unsettle(l, task);
    return task;
}

static void delay_publication(struct landing *l, int64_t took, int64_t now)
{
    int64_t pause = PAUSE_TIMES * took;
    if (pause < PAUSE_MIN_MS)
        pause = PAUSE_MIN_MS;
    l->next_publication = now + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
}

bool landing_needs_estimate(const struct landing *l)
{
    return !l->publishing_since && !l->next_publication;
}

/* Before the first publication into a large checkout we wait as long as if there had been one
 * before. */
void landing_estimate(struct landing *l, int64_t index_bytes, int64_t now)
{
    if (index_bytes * PAUSE_TIMES > PAUSE_MIN_MS * INDEX_BYTES_PER_MS)
        delay_publication(l, index_bytes / INDEX_BYTES_PER_MS, now);
}

int64_t landing_publish_in(const struct landing *l, size_t attempts, bool stopping, int64_t now)
{
    bool awaited = stopping || l->awaited || l->unpublished.n + l->publishing.n == attempts;
    if (!l->unpublished.n)
        return -1;
    return awaited || now >= l->next_publication ? 0 : l->next_publication - now;
}

void landing_begin_publication(struct landing *l, int64_t now)
{
    l->publishing_since = now;
    for (size_t i = 0; i < l->unpublished.n; i++)
        vec_push(&l->publishing, l->unpublished.v[i]);
    l->unpublished.n = 0;
    l->awaited = 0;
}

void landing_end_publication(struct landing *l, int64_t now)
{
    delay_publication(l, now - l->publishing_since, now);
    l->publishing.n = 0;
}
