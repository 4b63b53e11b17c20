/*
 * struct map: from strings to pointers. Keys are not copied: they must outlive the map. Expected
 * constant time per call; the hash is seeded per process, so a hostile plan cannot choose
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

/* Stores value (not NULL) unless the key is there already; returns the value that was there, else
 * NULL. */
void *map_put(struct map *m, const char *key, size_t len, void *value);

#endif
