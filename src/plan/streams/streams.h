/*
 * struct streams: the batches of an Agent Dispatch Manifest divided among sessions that work at the
 * same time. A stream is one session, which does its batches one after the other.
 *
 * Two batches are tied, and stay in one stream, where
 *   - one depends on the other: it, or one of its agents, names it in `depends_on`;
 *   - they own a path in common;
 *   - one takes the summary of the other: it is next to a fan-out, and has no `depends_on`;
 *   - one follows the other: it is not `parallel`, and has no `depends_on`, which would say that it
 *     is independent of all others. It follows the batch before it and, where that is parallel and
 *     has no `depends_on` either, those before that one, up to one that is not so.
 * Batches that are tied, directly or not, are a component.
 *
 * Components are put into N streams, the heaviest first, each where there is least so far (LPT).
 * With W the weight of all batches, L that of the heaviest component, and B the least that the
 * heaviest stream can have, over all ways to put whole components into N streams, the heaviest
 * stream H that comes out has
 *
 *     H <= (4/3 - 1/(3N)) * B        and        H <= W/N + (1 - 1/N) * L.
 *
 * A forced split cuts where it is told to, ties or not; the ties that it cuts are marked, and no
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

/* What keeps two batches together. `late` needs, follows or shares a path with `early`. */
struct tie {
    uint32_t early, late;
    enum tie_kind kind;
    const struct claim *early_claim, *late_claim; /* of TIE_OWNS */
    bool cut;                                     /* they are in different streams */
};

struct stream {
    const char *id;    /* "a", "b", ... "z", "aa" */
    uint32_t *batches; /* in the order in which they are to be done */
    size_t n, agents;
    int64_t weight;
};

enum streams_verdict {
    STREAMS_GAIN,
    STREAMS_TOO_SMALL, /* fewer than STREAMS_WORTHWHILE batches */
    STREAMS_ENTANGLED, /* one component, and no split was forced */
};

struct streams_options {
    size_t n; /* how many at most; 0: the default */
    const size_t
        *splits;        /* or: how many batches are before each cut, growing, each from 1 to one */
    size_t split_count; /* less than there are batches */
};

struct streams {
    struct arena arena;
    const struct plan *plan;
    size_t batches;
    int64_t *weight;     /* of each batch: of its agents, by their estimates, else their number */
    bool estimated;      /* weights are ms */
    uint32_t *component; /* of each batch: its first batch */
    size_t components;
    int64_t heaviest_component;
    uint32_t *stream_of;  /* of each batch */
    uint32_t *order;      /* all batches, each behind those that it needs or follows */
    VEC(struct tie) ties; /* by late, then early */
    uint32_t *ties_of;    /* those of batch b, at either end: [ties_at[b], ties_at[b + 1]) */
    uint32_t *ties_at;
    size_t cuts; /* ties that are cut */

    struct stream *list; /* by their first batch in the file; none is empty */
    size_t n;
    int64_t total, heaviest;
    bool forced;
    enum streams_verdict verdict;
};

/* Divides a plan that has batches. The one thing that can be wrong with it is that agents of two
 * batches wait for each other: then -1. To be released in every case. */
int streams_init(struct streams *s, const struct plan *plan, const struct graph *g,
                 struct claims *claims, const struct streams_options *opts, struct problems *ps);
void streams_done(struct streams *s);
#define autostreams own_cleanup(streams_done)

/* Each agent of the batch at a place. */
#define batch_each_task(t, plan, place)                                                            \
    for (const struct task *t = &(plan)->tasks[(plan)->batches.v[place].first],                    \
                           *t##_end = t + (plan)->batches.v[place].n;                              \
         t < t##_end; t++)

/* How much faster than one session, by the weights. */
double streams_speed_up(const struct streams *s);

extern const char *const tie_names[TIE_KIND_COUNT_]; /* "depends_on", "owns", ... */

/* Appends why two batches belong together: "3 needs 1". */
void streams_say_tie(const struct streams *s, const struct tie *tie, struct buf *out);

/* Appends why a batch is in its stream, as one line. */
void streams_say_why(const struct streams *s, uint32_t batch, struct buf *out);

/* Appends, where little is gained, why and what to do instead; `plan` is the file's name. */
void streams_say_verdict(const struct streams *s, const char *plan, struct buf *out);

/* Appends the ids of a stream's batches, in their order; where there are more than `most`, how many
 * more. */
void streams_say_ids(const struct streams *s, const struct stream *stream, size_t most,
                     struct buf *out);

/* What the agents of a manifest are told. */
struct streams_texts {
    const char *const *prompts; /* of its tasks */
    const char *about;          /* a paragraph for every stream, or NULL */
};

/* Appends what a stream's session is told. */
void streams_prompt(const struct streams *s, const struct stream *stream,
                    const struct streams_texts *texts, struct buf *out);

/* The plan in which each stream is a task, as a tree of canonical words. What one session cannot be
 * (two engines, two environments) is an error. Returns NULL where there was one. */
struct node *streams_plan(const struct streams *s, const struct streams_texts *texts,
                          struct arena *a, struct problems *ps);

#endif
