/*
 * struct config: settings of a user or a machine, not of a plan: prices of models, paths of the
 * engines' programs, logging, notification. It is read from one or more files, the most general one
 * first; later files override earlier ones.
 *
 * Strings live in the trees, which must outlive the configuration, or in its arena.
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

/* The price of a million tokens of a model, in US dollars. */
struct price {
    const char *model;             /* its name, or a prefix followed by '*' */
    const char *date;              /* date of its price table: "2026-11-01" */
    double input, output;          /* without cached tokens */
    double cache_read, cache_made; /* below 0: the same as `input` */
};

struct config {
    struct arena arena;
    VEC(struct price) prices;
    const char *programs[CONFIG_ENGINES]; /* by enum agent_engine; NULL: the default */
    struct plan_command log;
    struct notify_list notify;
};

/* Adds the settings of a tree; -1 if there were errors. */
int config_decode(struct config *config, const struct node *root, struct problems *ps);
void config_done(struct config *config);

struct tokens {
    int64_t in, out; /* without cached tokens */
    int64_t cache_read, cache_made;
};

/* The cost of tokens by the price tables. An entry with the whole name of the model comes first,
 * then the one with the longest prefix. Below 0 if no entry matches; otherwise *ret_date is the
 * date of its table. */
double config_reckon(const struct config *config, const char *model, const struct tokens *tokens,
                     const char **ret_date);

#endif
