#include "plan/plan.h"

#include "base/mem.h"
#include "plan/decode/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where a plan reads a boolean, or a text that may be written as a number; `*` is every child. */
static const struct {
    const char *path;
    enum node_kind kind;
} settled[] = {
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

/* Whether the value is written as every syntax writes it. */
static bool is_usual(const struct node *n)
{
    char digits[24];
    if (n->kind == NODE_BOOL)
        return strcmp(n->text, n->truth ? "true" : "false") == 0;
    (void)snprintf(digits, sizeof(digits), "%" PRId64, n->kind == NODE_INT ? n->integer : 0);
    return n->kind == NODE_INT && strcmp(n->text, digits) == 0;
}

static void settle(struct node *n, enum node_kind kind)
{
    int truth = read_old_boolean(n);
    if (kind == NODE_BOOL && truth >= 0) {
        n->kind = NODE_BOOL;
        n->truth = truth;
    } else if (kind == NODE_STRING && n->kind > NODE_NULL && n->kind < NODE_STRING &&
               !is_usual(n)) {
        n->kind = NODE_STRING;
    }
}

/* Recurses as deep as the paths above are long. */
static void settle_below(struct node *n, const char *path, enum node_kind kind)
{
    size_t len = strcspn(path, "/");
    if (!len)
        settle(n, kind);
    if (!len || n->kind < NODE_LIST)
        return;
    const char *rest = path + len + (path[len] == '/');
    node_each (child, n) {
        bool named = n->kind == NODE_MAP && child->key_len == len && !memcmp(child->key, path, len);
        if (*path == '*' || named)
            settle_below(child, rest, kind);
    }
}

void plan_apply_defaults(struct node *root)
{
    for (size_t i = 0; i < ARRAY_LEN(settled); i++)
        settle_below(root, settled[i].path, settled[i].kind);
}
