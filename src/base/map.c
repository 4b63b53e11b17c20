#include "base/map.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

struct map_entry {
    const char *key;
    size_t len;
    uint64_t hash;
    void *value; /* NULL: the slot is free */
};

static uint64_t map_seed(void)
{
    static uint64_t seed;
    while (!seed) {
        if (getentropy(&seed, sizeof(seed)) != 0)
            seed = (uintptr_t)&seed;
    }
    return seed;
}

static uint64_t mix_bits(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static uint64_t map_hash(const char *key, size_t len)
{
    uint64_t h = map_seed() ^ len;
    for (; len >= 8; key += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        h = mix_bits(h ^ word);
    }
    uint64_t tail = 0;
    if (len)
        memcpy(&tail, key, len);
    return mix_bits(h ^ tail);
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

/* Finds the slot that holds key, or the free slot for it. cap is a power of two, and the map is
 * never full. */
static struct map_entry *find_slot(const struct map *m, const char *key, size_t len, uint64_t hash)
{
    for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct map_entry *e = &m->slots[i];
        if (!e->value || (e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0))
            return e;
    }
}

static void map_resize(struct map *m, size_t cap)
{
    struct map old = *m;
    m->slots = mem_array(cap, sizeof(*m->slots));
    m->cap = cap;
    for (size_t i = 0; i < old.cap; i++) {
        const struct map_entry *e = &old.slots[i];
        if (e->value)
            *find_slot(m, e->key, e->len, e->hash) = *e;
    }
    free(old.slots);
}

void *map_get(const struct map *m, const char *key, size_t len)
{
    return m->n ? find_slot(m, key, len, map_hash(key, len))->value : NULL;
}

void *map_put(struct map *m, const char *key, size_t len, void *value)
{
    if (m->n * 4 >= m->cap * 3)
        map_resize(m, m->cap ? m->cap * 2 : 16);
    uint64_t hash = map_hash(key, len);
    struct map_entry *e = find_slot(m, key, len, hash);
    if (e->value)
        return e->value;
    *e = (struct map_entry){key, len, hash, value};
    m->n++;
    return NULL;
}
