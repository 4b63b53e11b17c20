/*
 * struct secrets: values that are never to be shown. In what is masked, each of them, as it is or
 * as JSON writes it, is "[MASKED]".
 */
#ifndef RUN_SECRETS_H
#define RUN_SECRETS_H

#include "base/buf.h"
#include "base/strv.h"
#include "core/plan.h"

#include <stdbool.h>

struct secrets {
    struct strv values; /* longest first */
    size_t longest;
    bool begins[256]; /* by first byte */
};

/* Takes the variables of a plan that are marked as secret, and those of our own environment that
 * are known to hold keys. What is shorter than four bytes is no secret. */
void secrets_collect(struct secrets *secrets, const struct plan *plan);
void secrets_done(struct secrets *secrets);

/* Appends a text, masked. */
void secrets_mask(const struct secrets *secrets, const char *s, size_t len, struct buf *out);

/* Appends as much of a text as can be masked without knowing what follows it, and returns how many
 * bytes of it that was. */
size_t secrets_mask_part(const struct secrets *secrets, const char *s, size_t len, struct buf *out);

#endif
