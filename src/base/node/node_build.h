/*
 * Building trees that come from no file: plans shown again, events, reports. Keys and strings are
 * copied into the arena.
 */
#ifndef BASE_NODE_NODE_BUILD_H
#define BASE_NODE_NODE_BUILD_H

#include "base/node/node.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

struct node *build_map(struct arena *a);
struct node *build_list(struct arena *a);

/* New members of a mapping. The string may be NULL: then there is no member. */
struct node *build_put(struct arena *a, struct node *map, const char *key, struct node *value);
struct node *build_put_map(struct arena *a, struct node *map, const char *key);
struct node *build_put_list(struct arena *a, struct node *map, const char *key);
void build_put_string(struct arena *a, struct node *map, const char *key, const char *s);
void build_put_int(struct arena *a, struct node *map, const char *key, int64_t n);
void build_put_real(struct arena *a, struct node *map, const char *key, double real);
void build_put_bool(struct arena *a, struct node *map, const char *key, bool truth);

void build_put_strings(struct arena *a, struct node *map, const char *key, const struct strv *list);

/* New entries of a list. */
void build_add_string(struct arena *a, struct node *list, const char *s);
struct node *build_add_map(struct arena *a, struct node *list);

/* Reading them again: what a member says, or the given value where it is missing or another kind.
 */
const char *build_string(const struct node *map, const char *key, const char *missing);
int64_t build_int(const struct node *map, const char *key, int64_t missing);
bool build_is_true(const struct node *map, const char *key);

#endif
