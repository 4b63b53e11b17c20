#include "base/node/node.h"

#include "base/text/text.h"
#include "base/vec.h"

#include <ctype.h>
#include <string.h>

struct node *node_new(struct arena *a, enum node_kind kind, struct pos pos)
{
    struct node *n = arena_alloc(a, sizeof(*n));
    n->kind = kind;
    n->pos = pos;
    return n;
}

struct node *node_string(struct arena *a, const char *s, size_t len, struct pos pos)
{
    struct node *n = node_new(a, NODE_STRING, pos);
    n->text = arena_dup(a, s, len);
    n->len = len;
    return n;
}

static void link_last(struct node *to, struct node *child)
{
    child->next = NULL;
    if (to->last)
        to->last->next = child;
    else
        to->first = child;
    to->last = child;
    to->n++;
}

void node_append(struct node *list, struct node *child)
{
    child->parent = list;
    child->index = (uint32_t)list->n;
    link_last(list, child);
}

void node_link(struct node *to, struct node *child, const char *name)
{
    child->name = name;
    link_last(to, child);
}

void node_unlink(struct node *from, struct node *child)
{
    struct node *before = NULL;
    for (struct node **at = &from->first; *at; before = *at, at = &(*at)->next) {
        if (*at != child)
            continue;
        *at = child->next;
        if (from->last == child)
            from->last = before;
        from->n--;
        return;
    }
}

void node_put(struct arena *a, struct node *map, const char *key, size_t len, struct pos key_pos,
              struct node *child)
{
    child->key = child->name = arena_dup(a, key, len);
    child->key_len = len;
    child->key_pos = key_pos;
    node_append(map, child);
}

struct node *node_get(const struct node *map, const char *name)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    node_each (member, map) {
        /* A key may contain a NUL. strcmp() then sees only its beginning, so we compare the length
         * too. */
        if (strcmp(member->name, name) == 0 &&
            (member->name != member->key || strlen(name) == member->key_len))
            return member;
    }
    return NULL;
}

const char *node_kind_name(enum node_kind kind)
{
    static const char *const names[] = {
        [NODE_NULL] = "null",     [NODE_BOOL] = "a boolean",  [NODE_INT] = "an integer",
        [NODE_REAL] = "a number", [NODE_STRING] = "a string", [NODE_TIME] = "a date",
        [NODE_LIST] = "a list",   [NODE_MAP] = "a mapping",
    };
    return names[kind];
}

static bool is_word(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '-')
            return false;
    }
    return len > 0;
}

static void add_path_step(const struct node *n, struct buf *out)
{
    if (!n->key) {
        buf_addf(out, "[%u]", n->index);
    } else if (is_word(n->key, n->key_len)) {
        buf_addf(out, "%s%s", out->len ? "." : "", n->key);
    } else {
        buf_addstr(out, "[\"");
        text_harmless(out, n->key, n->key_len);
        buf_addstr(out, "\"]");
    }
}

void node_path(const struct node *node, struct buf *out)
{
    VEC(const struct node *) steps = {0};
    for (; node && node->parent; node = node->parent)
        vec_push(&steps, node);
    while (steps.n)
        add_path_step(steps.v[--steps.n], out);
    vec_done(&steps);
}
