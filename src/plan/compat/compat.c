#include "plan/compat/compat.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

struct node *compat_add(struct node *map, struct arena *a, const char *name, enum node_kind kind,
                        const struct node *origin)
{
    struct node *node = node_new(a, kind, origin->pos);
    node->key = origin->key;
    node->key_len = origin->key_len;
    node->key_pos = origin->key_pos;
    node->index = origin->index;
    node->parent = origin->parent;
    node_link(map, node, name);
    return node;
}

struct node *compat_add_string(struct node *map, struct arena *a, const char *name, const char *s,
                               const struct node *origin)
{
    struct node *node = compat_add(map, a, name, NODE_STRING, origin);
    node->text = s;
    node->len = strlen(s);
    return node;
}

struct node *compat_rename(struct node *map, const char *key, const char *name, struct problems *ps)
{
    struct node *node = node_get(map, key), *native = node_get(map, name);
    if (node && native && node != native) {
        problem_error_key(ps, RULE_COMBINATION, node, "'%s' and '%s' are the same thing", key,
                          name);
        problem_hint(ps, "remove one of them");
        node_unlink(map, node);
        return NULL;
    }
    if (node)
        node->name = name;
    return node;
}

struct node *compat_section(struct node *root, struct arena *a, const char *name)
{
    struct node *section = node_get(root, name);
    return section ? section : compat_add(root, a, name, NODE_MAP, root);
}

void compat_require(const struct node *map, const char *const *keys, struct problems *ps)
{
    for (; *keys; keys++) {
        bool found = false;
        node_each (member, map)
            found = found || strcmp(member->key, *keys) == 0;
        if (!found)
            problem_error(ps, RULE_REQUIRED, map, "has no '%s'", *keys);
    }
}

void compat_as_string(struct node *node)
{
    if (node->kind != NODE_NULL && node->kind < NODE_LIST)
        node->kind = NODE_STRING;
}

void compat_prompt(struct node *task, struct arena *a, struct node *text)
{
    text->name = "prompt";
    if (text->kind != NODE_STRING || node_get(task, "title"))
        return;
    const char *line = text->text + strspn(text->text, blanks);
    if (*line)
        compat_add_string(task, a, "title", arena_dup(a, line, strcspn(line, "\r\n")), text);
}

void compat_name(struct node *root, struct problems *ps)
{
    struct node *name = node_get(root, "name");
    if (!name)
        return;
    compat_as_string(name);
    if (name->kind == NODE_STRING && name->text[strspn(name->text, blanks)])
        return;
    problem_warn(ps, RULE_TYPE, name, "is not a name, and is ignored");
    node_unlink(root, name);
}

/* We must not drop half of the work silently. */
static void refuse_both(struct node *root, struct problems *ps)
{
    struct node *batches = node_get(root, "batches");
    if (!batches || !node_get(root, "threads"))
        return;
    problem_error_key(ps, RULE_COMBINATION, batches, "'batches' and 'threads' do not go together");
    problem_hint(ps, "make two plans of it");
    node_unlink(root, batches);
}

enum plan_kind compat_translate(struct node *root, struct arena *a, struct problems *ps,
                                struct plan_batches *ret_batches)
{
    if (node_get(root, "po_plan_version") || node_get(root, "clade_plan_version"))
        return compat_orchestra(root, a, ps), PLAN_ORCHESTRA;
    refuse_both(root, ps);
    if (node_get(root, "threads"))
        return compat_threads(root, a, ps), PLAN_THREADS;
    if (node_get(root, "batches"))
        return compat_batches(root, a, ps, ret_batches), PLAN_BATCHES;
    return PLAN_TASKS;
}
