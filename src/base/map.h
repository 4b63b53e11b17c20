/*
 * struct map: from strings to pointers. The map does not copy keys: they must outlive it. Each call
 * takes constant time on average. We seed the hash per process, so a hostile plan cannot choose
 * collisions.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>

struct map_entry;

struct map {
    struct map_entry *slots;
    size_t n, cap;
};

void map_done(struct map *m);
#define automap own_cleanup(map_done)

void *map_get(const struct map *m, const char *key, size_t len); /* NULL when absent */

/* Stores value (not NULL) if the map does not have the key yet. Returns the value that the map had
 * already, or NULL. */
void *map_put(struct map *m, const char *key, size_t len, void *value);

#endif
