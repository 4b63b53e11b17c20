/* Translates parallel-sessions plans: threads for people. */
#include "plan/compat/compat.h"

#include <string.h>

static void translate_goal(struct node *thread, struct arena *a, struct problems *ps)
{
    static const char *const required[] = {"goal", NULL};
    struct node *goal = node_get(thread, "goal");
    if (node_get(thread, "prompt") || node_get(thread, "prompt_file")) {
        compat_rename(thread, "goal", "title", ps);
    } else if (goal) {
        compat_prompt(thread, a, goal);
    } else {
        compat_require(thread, required, ps);
        compat_add_string(thread, a, "prompt", "-", thread); /* avoid a second error */
    }
}

static void translate_thread(struct node *thread, struct arena *a, struct problems *ps)
{
    static const char *const required[] = {"branch", "owns", NULL};
    compat_require(thread, required, ps);
    translate_goal(thread, a, ps);

    struct node *owns = node_get(thread, "owns");
    if (owns && owns->kind == NODE_LIST && owns->n == 0)
        problem_error(ps, RULE_VALUE, owns, "is empty: a thread owns at least one path");

    struct node *id = node_get(thread, "id");
    if (!compat_rename(thread, "merge_order", "order", ps) && !node_get(thread, "order") && id &&
        id->kind == NODE_INT)
        compat_add(thread, a, "order", NODE_INT, id)->integer = id->integer;
}

void compat_threads(struct node *root, struct arena *a, struct problems *ps)
{
    struct node *threads = compat_rename(root, "threads", "tasks", ps);
    if (!threads || threads->kind != NODE_LIST)
        return;
    node_each (thread, threads) {
        if (thread->kind == NODE_MAP)
            translate_thread(thread, a, ps);
    }
}
