/*
 * struct streams: divides the batches of an Agent Dispatch Manifest among sessions that work at the
 * same time. A stream is one session, which does its batches one after the other.
 *
 * A tie keeps two batches in one stream. Two batches are tied if
 *   - one depends on the other: it, or one of its agents, names it in `depends_on`;
 *   - they own a common path;
 *   - one takes the summary of the other: it is next to a fan-out, and has no `depends_on`;
 *   - one follows the other: it is not `parallel`, and has no `depends_on`, which would declare
 *     it independent of all others. It follows the batch before it. If that one is parallel and
 *     has no `depends_on` either, it also follows the batches before, up to the first that is not
 *     so.
 * Batches that are tied, directly or not, form a component.
 *
 * We put components into N streams, the heaviest first, each into the stream with the least weight
 * (LPT). Let W be the weight of all batches, L the weight of the heaviest component, and B the
 * smallest possible weight of the heaviest stream over all ways to put whole components into N
 * streams. Then the heaviest stream has a weight H with
 *
 *     H <= (4/3 - 1/(3N)) * B        and        H <= W/N + (1 - 1/N) * L.
 *
 * A forced split cuts at the given places, even through ties; we mark the ties that it cuts, and no
 * bound holds.
 *
 * Pure: the same plan gives the same streams. Near linear in batches and ties.
 */
#ifndef PLAN_STREAMS_STREAMS_H
#define PLAN_STREAMS_STREAMS_H

#include "base/buf.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "plan/schedule/claims.h"
#include "plan/schedule/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAMS_DEFAULT = 2, STREAMS_MAX = 256, STREAMS_WORTHWHILE = 4 /* batches */ };

enum tie_kind { TIE_DEPENDS, TIE_OWNS, TIE_SUMMARY, TIE_FOLLOWS, TIE_KIND_COUNT_ };

/* A reason to keep two batches together. `late` needs, follows or shares a path with `early`. */
struct tie {
    uint32_t early, late;
    enum tie_kind kind;
    const struct claim *early_claim, *late_claim; /* for TIE_OWNS */
    bool cut;                                     /* they are in different streams */
};

struct stream {
    const char *id;    /* "a", "b", ... "z", "aa" */
    uint32_t *batches; /* in the order of work */
    size_t n, agents;
    int64_t weight;
};

enum streams_verdict {
    STREAMS_GAIN,
    STREAMS_TOO_SMALL, /* fewer than STREAMS_WORTHWHILE batches */
    STREAMS_ENTANGLED, /* one component, and no split was forced */
};

struct streams_options {
    size_t n;             /* maximum number of streams; 0: the default */
    const size_t *splits; /* or: number of batches before each cut, ascending, each from 1 to one */
    size_t split_count;   /* less than there are batches */
};

struct streams {
    struct arena arena;
    const struct plan *plan;
    size_t batches;
    int64_t *weight;     /* per batch: estimates of its agents, else their number */
    bool estimated;      /* weights are ms */
    uint32_t *component; /* per batch: the first batch of its component */
    size_t components;
    int64_t heaviest_component;
    uint32_t *stream_of;  /* per batch */
    uint32_t *order;      /* all batches, each after those that it needs or follows */
    VEC(struct tie) ties; /* by late, then early */
    uint32_t *ties_of;    /* ties of batch b, at either end: [ties_at[b], ties_at[b + 1]) */
    uint32_t *ties_at;
    size_t cuts; /* number of cut ties */

    struct stream *list; /* in the order of their first batches in the file; none is empty */
    size_t n;
    int64_t total, heaviest;
    bool forced;
    enum streams_verdict verdict;
};

/* Divides a plan that has batches. Fails only if agents of two batches wait for each other: then
 * returns -1. Call streams_done() in every case. */
int streams_init(struct streams *s, const struct plan *plan, const struct graph *g,
                 struct claims *claims, const struct streams_options *opts, struct problems *ps);
void streams_done(struct streams *s);
#define autostreams own_cleanup(streams_done)

/* Iterates over the agents of the batch with this index. */
#define batch_each_task(t, plan, place)                                                            \
    for (const struct task *t = &(plan)->tasks[(plan)->batches.v[place].first],                    \
                           *t##_end = t + (plan)->batches.v[place].n;                              \
         t < t##_end; t++)

/* The speed-up over one session, by the weights. */
double streams_speed_up(const struct streams *s);

extern const char *const tie_names[TIE_KIND_COUNT_]; /* "depends_on", "owns", ... */

/* Appends the reason of a tie: "3 needs 1". */
void streams_say_tie(const struct streams *s, const struct tie *tie, struct buf *out);

/* Appends one line with the reason why a batch is in its stream. */
void streams_say_why(const struct streams *s, uint32_t batch, struct buf *out);

/* If the gain is small, appends the reason and the alternatives; `plan` is the file's name. */
void streams_say_verdict(const struct streams *s, const char *plan, struct buf *out);

/* Appends the ids of a stream's batches in their order; of more than `most`, only the number of the
 * rest. */
void streams_say_ids(const struct streams *s, const struct stream *stream, size_t most,
                     struct buf *out);

/* The texts for the agents of a manifest. */
struct streams_texts {
    const char *const *prompts; /* prompts of the plan's tasks */
    const char *about;          /* a paragraph for every stream, or NULL */
};

/* Appends the prompt for a stream's session. */
void streams_prompt(const struct streams *s, const struct stream *stream,
                    const struct streams_texts *texts, struct buf *out);

/* Builds a plan in which each stream is a task, as a tree of canonical words. Agents that cannot
 * share a session (two engines, two environments) are an error: then returns NULL. */
struct node *streams_plan(const struct streams *s, const struct streams_texts *texts,
                          struct arena *a, struct problems *ps);

#endif
