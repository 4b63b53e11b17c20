#include "git/format/object_cache.h"

#include <string.h>

enum { MEMORY_MAX = 4 << 20, ID_MIN = 40 };

void git_known_done(struct git_known *k)
{
    map_done(&k->roots);
    map_done(&k->trees);
    map_done(&k->ids);
    arena_done(&k->arena);
}

static struct git_known_bytes *keep(struct git_known *k, const void *s, size_t len)
{
    struct git_known_bytes *bytes = arena_alloc(&k->arena, sizeof(*bytes));
    *bytes = (struct git_known_bytes){arena_dup(&k->arena, s, len), len};
    return bytes;
}

static void make_room(struct git_known *k)
{
    if (k->arena.total >= MEMORY_MAX)
        git_known_done(k);
}

size_t git_known_commit(const char *expression)
{
    size_t len = strspn(expression, "0123456789abcdef");
    return len >= ID_MIN && strcmp(expression + len, "^{tree}") == 0 ? len : 0;
}

bool git_known_is_commit(const struct git_known *k, const struct buf *id)
{
    return map_get(&k->roots, id->s, id->len);
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
    make_room(k);
    (void)map_put(&k->roots, arena_dup(&k->arena, commit, commit_len), commit_len,
                  keep(k, tree, tree_len));
}

const struct git_known_bytes *git_known_tree(const struct git_known *k, const char *id)
{
    return map_get(&k->trees, id, strlen(id));
}

const char *git_known_tree_id(const struct git_known *k, const struct buf *bytes)
{
    const struct git_known_bytes *id = map_get(&k->ids, bytes->s, bytes->len);
    return id ? id->s : NULL;
}

void git_known_add_tree(struct git_known *k, const char *id, size_t id_len, const void *bytes,
                        size_t len)
{
    make_room(k);
    struct git_known_bytes *name = keep(k, id, id_len), *tree = keep(k, bytes, len);
    (void)map_put(&k->trees, name->s, id_len, tree);
    (void)map_put(&k->ids, tree->s, len, name);
}
