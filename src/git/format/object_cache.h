/*
 * struct object_cache: known facts about objects: the tree of a commit, and the bytes of a tree.
 * Objects never change, so these stay true. If the cache grows too large we empty it.
 */
#ifndef GIT_FORMAT_OBJECT_CACHE_H
#define GIT_FORMAT_OBJECT_CACHE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdbool.h>

struct object_cache {
    struct map roots, trees, ids; /* ids: ids of trees, by their bytes */
    struct arena arena;           /* holds keys and values */
};

struct object_cache_bytes {
    const char *s;
    size_t len;
};

void object_cache_done(struct object_cache *known);

/* The length of the commit's id in "ID^{tree}"; 0 for another expression. */
size_t object_cache_commit(const char *expression);

bool object_cache_is_commit(const struct object_cache *known, const struct buf *id);

/* The id of the tree that such an expression names, or NULL. */
const char *object_cache_root(const struct object_cache *known, const char *expression);
void object_cache_add_root(struct object_cache *known, const char *commit, size_t commit_len,
                           const char *tree, size_t tree_len);

/* The bytes of a tree by its id, or NULL. Valid until something is added. */
const struct object_cache_bytes *object_cache_tree(const struct object_cache *known,
                                                   const char *id);
/* The id of a tree by its bytes, or NULL. It may have been pruned since it was written. */
const char *object_cache_tree_id(const struct object_cache *known, const struct buf *bytes);
void object_cache_add_tree(struct object_cache *known, const char *id, size_t id_len,
                           const void *bytes, size_t len);

#endif
