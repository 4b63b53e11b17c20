/*
 * Parses amounts of money and tokens.
 */
#ifndef CLI_COMMON_AMOUNT_H
#define CLI_COMMON_AMOUNT_H

#include "base/node/node.h"

#include <stdbool.h>

/* Parses the word and puts "5", "$2.50" and "2.50usd" into the mapping as `usd`, "200k tokens" and
 * "200ktokens" as `tokens`. Returns false if it is not an amount. */
bool amount_put(const char *word, struct arena *a, struct node *map);

#endif
