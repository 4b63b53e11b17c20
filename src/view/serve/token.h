/*
 * The token of the page, and the cookie made from it.
 */
#ifndef VIEW_SERVE_TOKEN_H
#define VIEW_SERVE_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct serve_token {
    char token[65];  /* hexadecimal digits */
    char cookie[65]; /* made from the token; does not reveal it */
    uint16_t port;   /* the port that the token was used on, or 0 */
};

/* Reads the token of the last server, or makes a new one. */
int serve_token_load(struct serve_token *key, const char *state_dir, struct err *err);

/* Call this with the port that we listen on. An open page hands its token to any process that
 * listens on the old port, so a new port needs a new token. */
int serve_token_settle(struct serve_token *key, uint16_t port, struct err *err);

/* Saves token and port for the next server. */
int serve_token_save(const struct serve_token *key, const char *state_dir, struct err *err);

/* Compares two texts in constant time. */
bool serve_token_is(const char *known, const char *given);

#endif
