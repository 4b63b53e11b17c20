/*
 * struct git_known: what git has said of objects: which tree a commit has, and what is in a tree.
 * Objects never change, so that it stays true. All is forgotten when it gets too much.
 */
#ifndef GIT_FORMAT_OBJECT_CACHE_H
#define GIT_FORMAT_OBJECT_CACHE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdbool.h>

struct git_known {
    struct map roots, trees, ids; /* ids: of trees, by their bytes */
    struct arena arena;           /* what these lead to */
};

struct git_known_bytes {
    const char *s;
    size_t len;
};

void git_known_done(struct git_known *known);

/* The length of the commit's id in "ID^{tree}"; 0 for another expression. */
size_t git_known_commit(const char *expression);

bool git_known_is_commit(const struct git_known *known, const struct buf *id);

/* The id of the tree that such an expression stands for, or NULL. */
const char *git_known_root(const struct git_known *known, const char *expression);
void git_known_add_root(struct git_known *known, const char *commit, size_t commit_len,
                        const char *tree, size_t tree_len);

/* The bytes of a tree by its id, or NULL; until the next thing is added. */
const struct git_known_bytes *git_known_tree(const struct git_known *known, const char *id);
/* The id of a tree by its bytes, or NULL. It may have been pruned since it was written. */
const char *git_known_tree_id(const struct git_known *known, const struct buf *bytes);
void git_known_add_tree(struct git_known *known, const char *id, size_t id_len, const void *bytes,
                        size_t len);

#endif
