/*
 * struct secrets: values that are never to be shown. In what is masked, all that is part of one of
 * them, as it is or as JSON writes it, is "[MASKED]", also where two overlap.
 *
 * Taken are the variables of a plan that are marked as secret, and those, of the plan and of our
 * own environment, that are known to hold keys. Blanks around a value do not count; of one with
 * several lines each long one is a secret by itself. What is shorter than four bytes is none; nor
 * is the value of a known variable that is shorter than eight: for models that need no key it often
 * is a common word.
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
    uint64_t begins[1024]; /* a bit for each pair of bytes that one begins with */
};

void secrets_collect(struct secrets *secrets, const struct plan *plan);
void secrets_done(struct secrets *secrets);

/* Whether a text has one in it. */
bool secrets_are_in(const struct secrets *secrets, const char *s, size_t len);

/* Whether a word, which everyone on the machine would see, has one in it that is no common word: of
 * eight bytes or more. */
bool secrets_are_told_by(const struct secrets *secrets, const char *word);

/* Appends a text, masked. */
void secrets_mask(const struct secrets *secrets, const char *s, size_t len, struct buf *out);

/* The same for a text that was cut at its beginning or at its end, maybe within a secret: four
 * bytes or more of one are masked there as well. */
struct secrets_cut {
    bool front, end;
};
void secrets_mask_cut(const struct secrets *secrets, const char *s, size_t len,
                      struct secrets_cut cut, struct buf *out);

/* The tree itself where none of its texts tells one, as above, else a copy in the arena in which
 * those texts are masked. Shorter ones stay: a path may have such a word in it. */
const struct node *secrets_mask_tree(const struct secrets *secrets, const struct node *root,
                                     struct arena *a);

/* A text that comes in pieces, cut anywhere: masked as if it came in one. What may be the beginning
 * of a secret is held back, and nothing else. */
struct secrets_stream {
    const struct secrets *secrets;
    struct buf rest;
    size_t covered; /* bytes of the rest that a mask stands for already */
};
#define SECRETS_STREAM_INIT(of)                                                                    \
    {                                                                                              \
        .secrets = (of), .rest = BUF_INIT                                                          \
    }
void secrets_feed(struct secrets_stream *stream, const char *s, size_t len, struct buf *out);
void secrets_end(struct secrets_stream *stream, struct buf *out); /* it can be fed again */
void secrets_stream_done(struct secrets_stream *stream);

#endif
