/*
 * Claims: the paths that a task owns. They decide which tasks may run at the same time.
 *
 * A claim is a file, a folder or a glob, relative to the project. The normalised form is relative
 * to the root of the repository, in the language of base/text/glob.h. Read-only tasks change
 * nothing, so we ignore their claims.
 */
#ifndef PLAN_SCHEDULE_CLAIMS_H
#define PLAN_SCHEDULE_CLAIMS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text/glob.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "plan/schedule/graph.h"

/* Prefix of claims for paths outside the repository: no tracked path can begin with it. */
#define CLAIMS_OUTSIDE ".git/outside"

struct claim_scope {
    const char *prefix; /* folder in the repository that claims are relative to; "": the root */
    bool fold;          /* the file system ignores case */
};

/* One task's claim to a path. */
struct holder {
    uint32_t task, rank; /* rank: index in the graph's order, set to search for overlaps */
    const struct claim *claim;
};

/* A claimed path, with all tasks that own it. */
struct claimed {
    const char *path; /* normalised; "" is everything */
    struct glob *glob;
    VEC(struct holder) owners;
    const struct claim *first; /* the first claim for it, even if it only forbids */
    uint32_t place;            /* index in the list of all paths */
};

struct claims {
    struct arena arena;
    const struct plan *plan;
    bool fold;
    struct map by_path; /* values: struct claimed */
    VEC(struct claimed *) list;
    struct claimed ***owns, ***forbids; /* per task and list entry; an element may be NULL */
};

/* Two tasks that could run at the same time and own a common path. */
struct overlap_pair {
    struct holder a, b;
    const struct claimed *path_a, *path_b;
};

/* Appends the normalised form of a claim to out. Returns NULL, or the error as the end of a
 * sentence that begins with the claim. */
const char *claim_normalise(const char *text, const char *prefix, struct buf *out);

/* Normalises and compiles all claims of a plan. Adds an error for each claim that is malformed or
 * leaves the repository, and a warning for a task that forbids what it owns. Call claims_done()
 * afterwards. */
void claims_init(struct claims *c, const struct plan *plan, const struct claim_scope *scope,
                 struct problems *ps);
void claims_done(struct claims *c);

/* Calls fn for each pair of claimed patterns that match a common path, until it returns false.
 * Pairs each one with itself first. Skips paths that nobody owns. */
typedef bool meet_fn(void *ctx, struct claimed *a, struct claimed *b);
void claims_meet(struct claims *c, meet_fn *fn, void *ctx);

/* Calls fn once for each pair of overlapping paths of two tasks that could run at the same time: no
 * dependency and no group with limit 1 separates them. Ends if fn returns false. */
typedef bool overlap_fn(void *ctx, const struct overlap_pair *pair);
void claims_overlaps(struct claims *c, struct graph *g, overlap_fn *fn, void *ctx);

/* Adds an error for each overlapping pair, with an example path; stops after a hundred. */
void claims_refuse_overlaps(struct claims *c, struct graph *g, struct problems *ps);

/* True if a task may change a path (relative to the root): the task does not forbid it, and either
 * owns it, or owns nothing while no other task owns it. */
bool claims_allow(const struct claims *c, uint32_t task, const char *path);

/* Warns about claims that match no tracked file (sorted bytewise, relative to the root). */
void claims_check_tracked(struct claims *c, const char *const *files, size_t n,
                          struct problems *ps);

#endif
