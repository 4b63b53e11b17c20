/*
 * struct packed_refs: many refs, sorted by name, as listed in `packed-refs` or by `git
 * for-each-ref`.
 */
#ifndef GIT_FORMAT_PACKED_REFS_H
#define GIT_FORMAT_PACKED_REFS_H

#include "base/buf.h"
#include "base/vec.h"

struct packed_ref {
    const char *name, *value; /* value: an id, or "ref: NAME" */
};

struct packed_refs {
    struct buf text; /* holds the strings */
    VEC(struct packed_ref) refs;
};

#define PACKED_REFS_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* Parses lines of "VALUE NAME"; skips lines that begin with '#' or '^'. Takes ownership of the text
 * and leaves it empty. */
void packed_refs_parse(struct packed_refs *p, struct buf *text);
void packed_refs_done(struct packed_refs *p); /* leaves it empty and usable */

/* The value of a ref, or NULL. */
const char *packed_refs_get(const struct packed_refs *p, const char *name);

/* Calls `fn` for each ref that differs; `from` or `to` is NULL if the ref is missing there. */
typedef void packed_refs_fn(void *ctx, const char *name, const char *from, const char *to);
void packed_refs_compare(const struct packed_refs *before, const struct packed_refs *now,
                         packed_refs_fn *fn, void *ctx);

#endif
