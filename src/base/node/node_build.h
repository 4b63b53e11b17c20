/*
 * Builds trees that do not come from a file: rewritten plans, events, reports. Copies keys and
 * strings into the arena.
 */
#ifndef BASE_NODE_NODE_BUILD_H
#define BASE_NODE_NODE_BUILD_H

#include "base/node/node.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

struct node *node_new_map(struct arena *a);
struct node *node_new_list(struct arena *a);

/* Add a member to a map. If a string is NULL, no member is added. */
struct node *node_put_value(struct arena *a, struct node *map, const char *key, struct node *value);
struct node *node_put_map(struct arena *a, struct node *map, const char *key);
struct node *node_put_list(struct arena *a, struct node *map, const char *key);
void node_put_string(struct arena *a, struct node *map, const char *key, const char *s);
void node_put_int(struct arena *a, struct node *map, const char *key, int64_t n);
void node_put_real(struct arena *a, struct node *map, const char *key, double real);
void node_put_bool(struct arena *a, struct node *map, const char *key, bool truth);

/* A time in ms since 1970, as text. */
void node_put_time(struct arena *a, struct node *map, const char *key, int64_t time);

void node_put_strings(struct arena *a, struct node *map, const char *key, const struct strv *list);

/* Add an entry to a list. */
void node_add_string(struct arena *a, struct node *list, const char *s);
struct node *node_add_map(struct arena *a, struct node *list);

/* Read a member. They return `missing` (or false) if there is no such member or it has another
 * type. */
const char *node_get_string(const struct node *map, const char *key, const char *missing);
int64_t node_get_int(const struct node *map, const char *key, int64_t missing);
bool node_get_bool(const struct node *map, const char *key);

#endif
