/*
 * struct secrets: values that we must never show. Masking replaces each of them by "[MASKED]", in
 * its own form and as JSON writes it, even if two of them overlap.
 *
 * The secrets are the variables of a plan that are marked as secret, and known variables for keys
 * in the plan and in our own environment. We ignore blanks around a value. If a value has several
 * lines, each long line is a secret of its own. Values shorter than four bytes do not count.
 * Values of known variables count only from eight bytes on: for models that need no key they are
 * often a common word.
 */
#ifndef PROJECT_SECRETS_H
#define PROJECT_SECRETS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/node/node.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct secrets {
    struct strv values; /* longest first */
    size_t longest;
    uint64_t begins[1024]; /* a bit for each pair of bytes with which a secret begins */
};

void secrets_collect(struct secrets *secrets, const struct plan *plan);
void secrets_done(struct secrets *secrets);

/* True if a text contains a secret. */
bool secrets_are_in(const struct secrets *secrets, const char *s, size_t len);

/* True if a word that everyone on the machine could see contains a secret that is not a common
 * word: one of eight bytes or more. */
bool secrets_are_told_by(const struct secrets *secrets, const char *word);

/* Appends a text with its secrets masked. */
void secrets_mask(const struct secrets *secrets, const char *s, size_t len, struct buf *out);

/* The same for a text that was cut at its beginning or end, perhaps within a secret: also masks a
 * part of a secret there if it has four bytes or more. */
struct secrets_cut {
    bool front, end;
};
void secrets_mask_cut(const struct secrets *secrets, const char *s, size_t len,
                      struct secrets_cut cut, struct buf *out);

/* Returns the tree itself if none of its texts contains a secret as in secrets_are_told_by(); else
 * a copy in the arena with those texts masked. Shorter secrets stay, because a path may contain
 * such a word. */
const struct node *secrets_mask_tree(const struct secrets *secrets, const struct node *root,
                                     struct arena *a);

/* Masks a text that comes in pieces, cut anywhere, as if it came in one. Holds back only text that
 * may be the beginning of a secret. */
struct secrets_stream {
    const struct secrets *secrets;
    struct buf rest;
    size_t covered; /* bytes of `rest` that a written mask already covers */
};
#define SECRETS_STREAM_INIT(of)                                                                    \
    {                                                                                              \
        .secrets = (of), .rest = BUF_INIT                                                          \
    }
void secrets_feed(struct secrets_stream *stream, const char *s, size_t len, struct buf *out);
void secrets_end(struct secrets_stream *stream, struct buf *out); /* the stream can be used again */
void secrets_stream_done(struct secrets_stream *stream);

#endif
