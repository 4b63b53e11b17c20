/*
 * Claims: which paths a task owns, and who may therefore run beside whom.
 *
 * A claim is a file, a folder or a glob, relative to the project; normalised it is relative to the
 * repository's root, in the language of base/text/glob.h. Read-only tasks change nothing, so theirs
 * do not count.
 */
#ifndef PLAN_SCHEDULE_CLAIMS_H
#define PLAN_SCHEDULE_CLAIMS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text/glob.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "plan/schedule/graph.h"

/* What claims of paths outside of the repository begin with: no tracked path can. */
#define CLAIMS_OUTSIDE ".git/outside"

struct claim_scope {
    const char
        *prefix; /* folder that claims are relative to, within the repository; "" is its root */
    bool fold;   /* the file system does not tell A from a */
};

/* One task's claim to a path. */
struct holder {
    uint32_t task, rank; /* rank: its place in the graph's order, while overlaps are looked for */
    const struct claim *claim;
};

/* A path that is claimed, by however many tasks. */
struct claimed {
    const char *path; /* normalised; "" is everything */
    struct glob *glob;
    VEC(struct holder) owners;
    const struct claim *first; /* the first claim that says it, also one that only forbids */
    uint32_t place;            /* in the list of all */
};

struct claims {
    struct arena arena;
    const struct plan *plan;
    bool fold;
    struct map by_path; /* to struct claimed */
    VEC(struct claimed *) list;
    struct claimed ***owns, ***forbids; /* per task, then as in the task's own lists; or NULL */
};

/* Two tasks that could run at the same time and own a path in common. */
struct overlap_pair {
    struct holder a, b;
    const struct claimed *path_a, *path_b;
};

/* Appends the normalised form of a claim to out. Returns NULL, or what is wrong with the claim as
 * the end of a sentence that begins with it. */
const char *claim_normalise(const char *text, const char *prefix, struct buf *out);

/* Normalises and compiles all claims of a plan; adds a problem for each that is malformed or leaves
 * the repository, and a warning for a task that forbids what it owns. Released with claims_done().
 */
void claims_init(struct claims *c, const struct plan *plan, const struct claim_scope *scope,
                 struct problems *ps);
void claims_done(struct claims *c);

/* Calls fn for each pair of claimed paths that have a path in common, until it returns false; each
 * path is paired with itself before it is with others. Those that nobody owns are left out. */
typedef bool meet_fn(void *ctx, struct claimed *a, struct claimed *b);
void claims_meet(struct claims *c, meet_fn *fn, void *ctx);

/* Calls fn for each overlapping pair of tasks that nothing keeps apart (a dependency, or a group
 * that runs one at a time), once per pair of paths, until fn returns false. */
typedef bool overlap_fn(void *ctx, const struct overlap_pair *pair);
void claims_overlaps(struct claims *c, struct graph *g, overlap_fn *fn, void *ctx);

/* Adds an error for each overlapping pair, with an example path; after a hundred it says that there
 * are more. */
void claims_refuse_overlaps(struct claims *c, struct graph *g, struct problems *ps);

/* Whether a task may change a path (relative to the root): it owns it, or owns nothing and nobody
 * else owns it; and does not forbid it. */
bool claims_allow(const struct claims *c, uint32_t task, const char *path);

/* Warns of claims that match none of the tracked files (sorted bytewise, relative to the root). */
void claims_check_tracked(struct claims *c, const char *const *files, size_t n,
                          struct problems *ps);

#endif
