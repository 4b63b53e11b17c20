/*
 * Asking a run that goes on for something (run/control/requests.h), from another process.
 */
#ifndef RUN_CONTROL_CLIENT_H
#define RUN_CONTROL_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/node.h"

#include <stdbool.h>
#include <stdint.h>

/* Asks the run whose folder dir is. *ret_done is whether it did so, and its words are appended to
 * ret_text. ERR_INPUT where the run does not go on; ERR_ENV where it does not answer. */
int control_call(const char *dir, const struct node *request, bool *ret_done, struct buf *ret_text,
                 struct err *err);

/* The same, with the whole answer, which is in the arena (empty before); and the answer is waited
 * for so many milliseconds. */
int control_ask(const char *dir, const struct node *request, int64_t patience_ms, struct arena *a,
                const struct node **ret_answer, struct err *err);
bool control_says(const struct node *answer, const char *key); /* that it is true */

/* The same for who has others to attend to: the answer is waited for so many milliseconds. */
int control_call_within(const char *dir, const struct node *request, int64_t patience_ms,
                        bool *ret_done, struct buf *ret_text, struct err *err);

#endif
