/*
 * struct packed_refs: many refs, sorted by name, as `packed-refs` or `git for-each-ref` lists them.
 */
#ifndef GIT_FORMAT_PACKED_REFS_H
#define GIT_FORMAT_PACKED_REFS_H

#include "base/buf.h"
#include "base/vec.h"

struct packed_ref {
    const char *name, *value; /* what it points at: an id, or "ref: NAME" */
};

struct packed_refs {
    struct buf text; /* holds the strings */
    VEC(struct packed_ref) refs;
};

#define PACKED_REFS_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* Reads lines of "VALUE NAME"; those that begin with '#' or '^' are about other things. Takes the
 * text over and leaves an empty one. */
void packed_refs_parse(struct packed_refs *p, struct buf *text);
void packed_refs_done(struct packed_refs *p); /* leaves an empty, usable one */

/* The value of a ref, or NULL. */
const char *packed_refs_get(const struct packed_refs *p, const char *name);

/* Calls back for each ref that is not the same in both; from or to is NULL where it is in one. */
typedef void packed_refs_fn(void *ctx, const char *name, const char *from, const char *to);
void packed_refs_compare(const struct packed_refs *before, const struct packed_refs *now,
                         packed_refs_fn *fn, void *ctx);

#endif
