#include "git/format/object_cache.h"

#include <string.h>

enum { MEMORY_MAX = 4 << 20, ID_MIN = 40 };

void object_cache_done(struct object_cache *k)
{
    map_done(&k->roots);
    map_done(&k->trees);
    map_done(&k->ids);
    arena_done(&k->arena);
}

static struct object_cache_bytes *copy_bytes(struct object_cache *k, const void *s, size_t len)
{
    struct object_cache_bytes *bytes = arena_alloc(&k->arena, sizeof(*bytes));
    *bytes = (struct object_cache_bytes){arena_dup(&k->arena, s, len), len};
    return bytes;
}

static void make_room(struct object_cache *k)
{
    if (k->arena.total >= MEMORY_MAX)
        object_cache_done(k);
}

size_t object_cache_commit(const char *expression)
{
    size_t len = strspn(expression, "0123456789abcdef");
    return len >= ID_MIN && strcmp(expression + len, "^{tree}") == 0 ? len : 0;
}

bool object_cache_is_commit(const struct object_cache *k, const struct buf *id)
{
    return map_get(&k->roots, id->s, id->len);
}

const char *object_cache_root(const struct object_cache *k, const char *expression)
{
    const struct object_cache_bytes *root =
        map_get(&k->roots, expression, object_cache_commit(expression));
    return root ? root->s : NULL;
}

void object_cache_add_root(struct object_cache *k, const char *commit, size_t commit_len,
                           const char *tree, size_t tree_len)
{
    make_room(k);
    (void)map_put(&k->roots, arena_dup(&k->arena, commit, commit_len), commit_len,
                  copy_bytes(k, tree, tree_len));
}

const struct object_cache_bytes *object_cache_tree(const struct object_cache *k, const char *id)
{
    return map_get(&k->trees, id, strlen(id));
}

const char *object_cache_tree_id(const struct object_cache *k, const struct buf *bytes)
{
    const struct object_cache_bytes *id = map_get(&k->ids, bytes->s, bytes->len);
    return id ? id->s : NULL;
}

void object_cache_add_tree(struct object_cache *k, const char *id, size_t id_len, const void *bytes,
                           size_t len)
{
    make_room(k);
    struct object_cache_bytes *name = copy_bytes(k, id, id_len), *tree = copy_bytes(k, bytes, len);
    (void)map_put(&k->trees, name->s, id_len, tree);
    (void)map_put(&k->ids, tree->s, len, name);
}
