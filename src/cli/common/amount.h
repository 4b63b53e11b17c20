/*
 * Amounts of money and tokens, as people type them.
 */
#ifndef CLI_COMMON_AMOUNT_H
#define CLI_COMMON_AMOUNT_H

#include "base/node/node.h"

#include <stdbool.h>

/* "5", "$2.50" and "2.50usd" are put into the mapping as `usd`, "200k tokens" and "200ktokens" as
 * `tokens`; false where it is none of these. */
bool amount_put(const char *word, struct arena *a, struct node *map);

#endif
