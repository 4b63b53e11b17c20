/*
 * Sends requests to a running run (run/control/requests.h) from another process.
 */
#ifndef RUN_CONTROL_CLIENT_H
#define RUN_CONTROL_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/node.h"

#include <stdbool.h>
#include <stdint.h>

/* Sends a request to the run with the folder `dir`. *ret_done: the run did it; its answer is
 * appended to ret_text. ERR_INPUT: the run is not running; ERR_ENV: it does not answer. */
int control_call(const char *dir, const struct node *request, bool *ret_done, struct buf *ret_text,
                 struct err *err);

/* The same, but returns the whole answer in the arena, which must be empty. Waits up to
 * patience_ms milliseconds. */
int control_ask(const char *dir, const struct node *request, int64_t patience_ms, struct arena *a,
                const struct node **ret_answer, struct err *err);
bool control_says(const struct node *answer,
                  const char *key); /* true if the answer has the key with the value true */

/* Like control_call(), but waits only up to patience_ms milliseconds. */
int control_call_within(const char *dir, const struct node *request, int64_t patience_ms,
                        bool *ret_done, struct buf *ret_text, struct err *err);

#endif
