#include "data/git_known.h"

#include <string.h>

enum { MEMORY_MAX = 4 << 20, ID_MIN = 40 };

void git_known_done(struct git_known *k)
{
    map_done(&k->roots);
    map_done(&k->trees);
    arena_done(&k->arena);
}

static void add(struct git_known *k, struct map *map, const char *key, size_t len,
                const void *value, size_t size)
{
    if (k->arena.total >= MEMORY_MAX)
        git_known_done(k);
    struct git_known_bytes *bytes = arena_alloc(&k->arena, sizeof(*bytes));
    *bytes = (struct git_known_bytes){arena_dup(&k->arena, value, size), size};
    (void)map_put(map, arena_dup(&k->arena, key, len), len, bytes);
}

size_t git_known_commit(const char *expression)
{
    size_t len = strspn(expression, "0123456789abcdef");
    return len >= ID_MIN && strcmp(expression + len, "^{tree}") == 0 ? len : 0;
}

const char *git_known_root(const struct git_known *k, const char *expression)
{
    const struct git_known_bytes *root =
        map_get(&k->roots, expression, git_known_commit(expression));
    return root ? root->s : NULL;
}

void git_known_add_root(struct git_known *k, const char *commit, size_t commit_len,
                        const char *tree, size_t tree_len)
{
    add(k, &k->roots, commit, commit_len, tree, tree_len);
}

const struct git_known_bytes *git_known_tree(const struct git_known *k, const char *id)
{
    return map_get(&k->trees, id, strlen(id));
}

void git_known_add_tree(struct git_known *k, const char *id, size_t id_len, const void *bytes,
                        size_t len)
{
    add(k, &k->trees, id, id_len, bytes, len);
}
