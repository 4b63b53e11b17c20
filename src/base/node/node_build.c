#include "base/node/node_build.h"

#include "base/buf.h"
#include "base/text/timestamp.h"

#include <string.h>

static const struct pos nowhere;

struct node *node_new_map(struct arena *a)
{
    return node_new(a, NODE_MAP, nowhere);
}

struct node *node_new_list(struct arena *a)
{
    return node_new(a, NODE_LIST, nowhere);
}

struct node *node_put_value(struct arena *a, struct node *map, const char *key, struct node *value)
{
    node_put(a, map, key, strlen(key), nowhere, value);
    return value;
}

struct node *node_put_map(struct arena *a, struct node *map, const char *key)
{
    return node_put_value(a, map, key, node_new_map(a));
}

struct node *node_put_list(struct arena *a, struct node *map, const char *key)
{
    return node_put_value(a, map, key, node_new_list(a));
}

void node_put_string(struct arena *a, struct node *map, const char *key, const char *s)
{
    if (s)
        node_put_value(a, map, key, node_string(a, s, strlen(s), nowhere));
}

void node_put_int(struct arena *a, struct node *map, const char *key, int64_t n)
{
    node_put_value(a, map, key, node_new(a, NODE_INT, nowhere))->integer = n;
}

void node_put_real(struct arena *a, struct node *map, const char *key, double real)
{
    node_put_value(a, map, key, node_new(a, NODE_REAL, nowhere))->real = real;
}

void node_put_bool(struct arena *a, struct node *map, const char *key, bool truth)
{
    node_put_value(a, map, key, node_new(a, NODE_BOOL, nowhere))->truth = truth;
}

void node_add_string(struct arena *a, struct node *list, const char *s)
{
    node_append(list, node_string(a, s, strlen(s), nowhere));
}

struct node *node_add_map(struct arena *a, struct node *list)
{
    struct node *map = node_new_map(a);
    node_append(list, map);
    return map;
}

const char *node_get_string(const struct node *map, const char *key, const char *missing)
{
    const struct node *node = node_get(map, key);
    return node && node->kind == NODE_STRING ? node->text : missing;
}

int64_t node_get_int(const struct node *map, const char *key, int64_t missing)
{
    const struct node *node = node_get(map, key);
    return node && node->kind == NODE_INT ? node->integer : missing;
}

bool node_get_bool(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_BOOL && n->truth;
}

void node_put_time(struct arena *a, struct node *map, const char *key, int64_t time)
{
    autobuf struct buf text = BUF_INIT;
    timestamp_format(&text, time);
    node_put_string(a, map, key, text.s);
}

void node_put_strings(struct arena *a, struct node *map, const char *key, const struct strv *list)
{
    struct node *node = node_put_list(a, map, key);
    for (size_t i = 0; i < list->n; i++)
        node_add_string(a, node, list->v[i]);
}
