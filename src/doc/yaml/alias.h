/*
 * YAML's anchors and aliases. An alias becomes a copy of what its anchor marks. The copies of one
 * document are bounded, so that a small file cannot become a very large tree.
 */
#ifndef DOC_YAML_ALIAS_H
#define DOC_YAML_ALIAS_H

#include "base/map.h"
#include "base/node/node.h"

/* So many values all aliases of a document may stand for; a text counts for more the longer it is.
 */
enum { YAML_ALIASED_MAX = 100000 };

struct yaml_anchors {
    struct map by_name;
    size_t copied;
};

void yaml_anchors_done(struct yaml_anchors *as);

/* Marks a node; a name that is used again stands for the later node. The node must live as long as
 * the arena. */
void yaml_anchor_set(struct yaml_anchors *as, struct arena *a, const char *name, size_t len,
                     struct node *node);
struct node *yaml_anchor_get(const struct yaml_anchors *as, const char *name, size_t len);

/* A copy of the tree at `from` that belongs to no list or mapping yet. NULL where the copies become
 * too many. *ret_depth is how many levels of lists and mappings it has. */
struct node *yaml_alias_copy(struct yaml_anchors *as, struct arena *a, const struct node *from,
                             size_t *ret_depth);

#endif
