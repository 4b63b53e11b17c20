#include "plan/plan.h"

#include "base/mem.h"
#include "plan/decode/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Places where a plan reads a boolean, or a text that may look like a number; `*` matches every
 * child. */
static const struct {
    const char *path;
    enum node_kind kind;
} typed_paths[] = {
    {"commit/hooks", NODE_BOOL},           {"landing/verify/clean", NODE_BOOL},
    {"defaults/verify/clean", NODE_BOOL},  {"tasks/*/verify/clean", NODE_BOOL},
    {"notify/*/desktop", NODE_BOOL},       {"notify/*/bell", NODE_BOOL},
    {"defaults/hand_on", NODE_BOOL},       {"tasks/*/hand_on", NODE_BOOL},
    {"batches/*/parallel", NODE_BOOL},     {"defaults/read_only", NODE_BOOL},
    {"defaults/env/*", NODE_STRING},       {"defaults/env/*/value", NODE_STRING},
    {"defaults/env/*/secret", NODE_BOOL},  {"defaults/agent", NODE_STRING},
    {"tasks/*/id", NODE_STRING},           {"tasks/*/agent", NODE_STRING},
    {"tasks/*/depends_on/*", NODE_STRING}, {"tasks/*/read_only", NODE_BOOL},
    {"tasks/*/env/*", NODE_STRING},        {"tasks/*/env/*/value", NODE_STRING},
    {"tasks/*/env/*/secret", NODE_BOOL},   {"threads/*/id", NODE_STRING},
    {"batches/*/id", NODE_STRING},         {"batches/*/depends_on/*", NODE_STRING},
};

/* True if every syntax writes the value in this form. */
static bool is_canonical(const struct node *n)
{
    char digits[24];
    if (n->kind == NODE_BOOL)
        return strcmp(n->text, n->truth ? "true" : "false") == 0;
    (void)snprintf(digits, sizeof(digits), "%" PRId64, n->kind == NODE_INT ? n->integer : 0);
    return n->kind == NODE_INT && strcmp(n->text, digits) == 0;
}

static void convert_scalar(struct node *n, enum node_kind kind)
{
    int truth = read_old_boolean(n);
    if (kind == NODE_BOOL && truth >= 0) {
        n->kind = NODE_BOOL;
        n->truth = truth;
    } else if (kind == NODE_STRING && n->kind > NODE_NULL && n->kind < NODE_STRING &&
               !is_canonical(n)) {
        n->kind = NODE_STRING;
    }
}

/* The paths above bound the depth of the recursion. */
static void convert_below(struct node *n, const char *path, enum node_kind kind)
{
    size_t len = strcspn(path, "/");
    if (!len)
        convert_scalar(n, kind);
    if (!len || n->kind < NODE_LIST)
        return;
    const char *rest = path + len + (path[len] == '/');
    node_each (child, n) {
        bool named = n->kind == NODE_MAP && child->key_len == len && !memcmp(child->key, path, len);
        if (*path == '*' || named)
            convert_below(child, rest, kind);
    }
}

void plan_apply_defaults(struct node *root)
{
    for (size_t i = 0; i < ARRAY_LEN(typed_paths); i++)
        convert_below(root, typed_paths[i].path, typed_paths[i].kind);
}
