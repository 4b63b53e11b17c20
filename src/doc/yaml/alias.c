#include "doc/yaml/alias.h"

struct anchor {
    struct node *node;
};

void yaml_anchors_done(struct yaml_anchors *as)
{
    map_done(&as->by_name);
}

void yaml_anchor_set(struct yaml_anchors *as, struct arena *a, const char *name, size_t len,
                     struct node *node)
{
    struct anchor *anchor = map_get(&as->by_name, name, len);
    if (!anchor) {
        anchor = arena_alloc(a, sizeof(*anchor));
        (void)map_put(&as->by_name, arena_dup(a, name, len), len, anchor);
    }
    anchor->node = node;
}

struct node *yaml_anchor_get(const struct yaml_anchors *as, const char *name, size_t len)
{
    const struct anchor *anchor = map_get(&as->by_name, name, len);
    return anchor ? anchor->node : NULL;
}

/* Copies the node without its children. The copy shares the text of a scalar, because nobody
 * changes it. */
static struct node *copy_node(struct arena *a, const struct node *from)
{
    struct node *n = arena_alloc(a, sizeof(*n));
    *n = *from;
    n->parent = n->next = NULL;
    if (n->kind >= NODE_LIST) {
        n->first = n->last = NULL;
        n->n = 0;
    }
    return n;
}

/* Copies share long texts in memory, but a writer writes each of them. So long texts count for
 * more. */
static size_t estimate_cost(const struct node *n)
{
    enum { TEXT_STEP = 256 };
    return 1 + (n->kind < NODE_LIST ? n->len / TEXT_STEP : 0);
}

static bool has_children(const struct node *n)
{
    return n->kind >= NODE_LIST && n->first;
}

/* During the walk `to` is the copy of the parent of `at`. */
struct node *yaml_alias_copy(struct yaml_anchors *as, struct arena *a, const struct node *from,
                             size_t *ret_depth)
{
    struct node *root = copy_node(a, from), *to = root;
    const struct node *at = has_children(from) ? from->first : NULL;
    size_t depth = from->kind >= NODE_LIST;
    *ret_depth = depth;
    root->key = root->name = NULL;
    root->key_len = 0;
    as->copied += estimate_cost(from);
    while (at && as->copied <= YAML_ALIASED_MAX) {
        struct node *n = copy_node(a, at);
        as->copied += estimate_cost(at);
        node_append(to, n);
        if (n->kind >= NODE_LIST && depth + 1 > *ret_depth)
            *ret_depth = depth + 1;
        if (has_children(at)) {
            at = at->first;
            to = n;
            depth++;
            continue;
        }
        while (at != from && !at->next) {
            at = at->parent;
            to = to->parent;
            depth--;
        }
        at = at == from ? NULL : at->next;
    }
    return as->copied <= YAML_ALIASED_MAX ? root : NULL;
}
