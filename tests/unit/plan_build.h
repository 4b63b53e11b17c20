/* Plans for unit tests, built without a document: the name of a task is its place. */
#ifndef TESTS_PLAN_BUILD_H
#define TESTS_PLAN_BUILD_H

#include "plan/plan.h"

#include <string.h>

struct built {
    struct arena arena;
    struct node *root, *tasks;
};

static inline struct node *built_text(struct built *b, const char *s)
{
    return node_string(&b->arena, s, strlen(s), (struct pos){1, 1});
}

static inline void built_put(struct built *b, struct node *map, const char *key, struct node *value)
{
    node_put(&b->arena, map, key, strlen(key), (struct pos){1, 1}, value);
}

static inline void built_init(struct built *b)
{
    *b = (struct built){0};
    b->root = node_new(&b->arena, NODE_MAP, (struct pos){1, 1});
    b->tasks = node_new(&b->arena, NODE_LIST, (struct pos){1, 1});
    built_put(b, b->root, "tasks", b->tasks);
}

/* Adds a task; its place is its id. */
static inline struct node *built_task(struct built *b)
{
    struct node *task = node_new(&b->arena, NODE_MAP, (struct pos){(uint32_t)b->tasks->n + 1, 1});
    built_put(b, task, "id", built_text(b, arena_printf(&b->arena, "%zu", b->tasks->n)));
    built_put(b, task, "prompt", built_text(b, "do it"));
    node_append(b->tasks, task);
    return task;
}

static inline void built_add(struct built *b, struct node *task, const char *key, const char *item)
{
    struct node *list = node_get(task, key);
    if (!list) {
        list = node_new(&b->arena, NODE_LIST, task->pos);
        built_put(b, task, key, list);
    }
    struct node *node = built_text(b, item);
    node->pos = task->pos;
    node_append(list, node);
}

static inline void built_depend(struct built *b, struct node *task, size_t on)
{
    built_add(b, task, "depends_on", arena_printf(&b->arena, "%zu", on));
}

#endif
