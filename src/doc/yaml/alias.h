/*
 * YAML's anchors and aliases. An alias becomes a copy of the node that its anchor marks. We limit
 * the copies per document, so that a small file cannot become a very large tree.
 */
#ifndef DOC_YAML_ALIAS_H
#define DOC_YAML_ALIAS_H

#include "base/map.h"
#include "base/node/node.h"

/* The aliases of a document may stand for so many values. Longer texts count as more values. */
enum { YAML_ALIASED_MAX = 100000 };

struct yaml_anchors {
    struct map by_name;
    size_t copied;
};

void yaml_anchors_done(struct yaml_anchors *as);

/* Marks a node with a name. If the name is used again, it means the later node. The node must live
 * as long as the arena. */
void yaml_anchor_set(struct yaml_anchors *as, struct arena *a, const char *name, size_t len,
                     struct node *node);
struct node *yaml_anchor_get(const struct yaml_anchors *as, const char *name, size_t len);

/* Copies the tree at `from`; the copy belongs to no list or mapping yet. Returns NULL if the
 * document has too many copies. *ret_depth is the number of levels of lists and mappings. */
struct node *yaml_alias_copy(struct yaml_anchors *as, struct arena *a, const struct node *from,
                             size_t *ret_depth);

#endif
