/*
 * struct config: what concerns a person or a machine rather than a plan: what models cost, where
 * the engines' programs are, who keeps a log, who is told. It is read from one or several files,
 * the general one first; what a later one says goes before what an earlier one said.
 *
 * Strings live in the trees that were read, which must outlive it, or in its arena.
 */
#ifndef PLAN_DECODE_CONFIG_H
#define PLAN_DECODE_CONFIG_H

#include "base/arena.h"
#include "base/node/node.h"
#include "base/node/problem.h"
#include "base/vec.h"
#include "plan/plan.h"

#include <stdint.h>

enum { CONFIG_ENGINES = ENGINE_SIM + 1 };

/* What a million tokens of a model cost, in US dollars. */
struct price {
    const char *model;             /* its name, or the beginning of it and a '*' */
    const char *date;              /* of the table that it is in: "2026-11-01" */
    double input, output;          /* without what is cached */
    double cache_read, cache_made; /* below 0: as much as other input */
};

struct config {
    struct arena arena;
    VEC(struct price) prices;
    const char *programs[CONFIG_ENGINES]; /* by enum engine; NULL: the usual one */
    struct plan_command log;
    struct notify_list notify;
};

/* Adds what a tree says; -1 where there were errors. */
int config_decode(struct config *config, const struct node *root, struct problems *ps);
void config_done(struct config *config);

struct tokens {
    int64_t in, out;                /* without what is cached: */
    int64_t cache_read, cache_made; /* tokens */
};

/* What the tokens of a model cost by the tables: of those that know it the one with its whole name,
 * else with the longest beginning. Below 0 where none does; else *ret_date is that table's. */
double config_reckon(const struct config *config, const char *model, const struct tokens *tokens,
                     const char **ret_date);

#endif
