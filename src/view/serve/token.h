/*
 * The token of the page, and what follows from it.
 */
#ifndef VIEW_SERVE_TOKEN_H
#define VIEW_SERVE_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct serve_token {
    char token[65];  /* hexadecimal digits */
    char cookie[65]; /* made from the token: who sees it does not know that */
    uint16_t port;   /* where the token has been used, or 0 */
};

/* Reads that of the last time, or makes one. */
int serve_token_load(struct serve_token *key, const char *state_dir, struct err *err);

/* The port that it is now. A page that is still open hands its token to whoever has the port of the
 * last time, so on another one there is a fresh token. */
int serve_token_settle(struct serve_token *key, uint16_t port, struct err *err);

/* Notes both, for the next time. */
int serve_token_save(const struct serve_token *key, const char *state_dir, struct err *err);

/* Whether two texts are the same, in a time that does not tell how much of them is. */
bool serve_token_is(const char *known, const char *given);

#endif
