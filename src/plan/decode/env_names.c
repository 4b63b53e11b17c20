#include "plan/decode/env_names.h"

#include "base/mem.h"
#include "plan/plan.h"

#include <string.h>

enum { ENV_MAX = 256 };

bool env_name_valid(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!*name || !strchr(letters, *name))
        return false;
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] ==
           '\0';
}

bool env_name_dangerous(const char *name)
{
    static const char *const prefixes[] = {"LD_", "DYLD_", "GIT_", "ANABRANCH_", "BASH_FUNC_"};
    static const char *const names[] = {
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS4",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "PERL5OPT",
        "PERL5LIB",
        "PERLLIB",
        "PERL5DB",
        "RUBYOPT",
        "RUBYLIB",
        "GCONV_PATH",
        "HOSTALIASES",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "PO_WORKTREE_GUARD",
    };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* The system accepts any name without '=', and so do foreign tools. */
static bool is_odd_name(const struct reader *r, const struct node *node)
{
    return r->lenient && node->key_len && strlen(node->key) == node->key_len &&
           !strchr(node->key, '=');
}

static bool check_name(struct reader *r, const struct node *node)
{
    bool valid = strlen(node->key) == node->key_len && env_name_valid(node->key);
    if (!valid && !is_odd_name(r, node)) {
        problem_error_key(r->ps, RULE_VALUE, node, "'%.80s' is not a variable's name", node->key);
        return false;
    }
    if (env_name_dangerous(node->key)) {
        problem_error_key(r->ps, RULE_ENV, node, "a plan may not set '%s'", node->key);
        problem_hint(r->ps, "set it in your own environment, or in a script that `command` runs");
        return false;
    }
    if (!valid)
        problem_warn_key(r->ps, RULE_VALUE, node, "'%.80s' is a name that no shell can read",
                         node->key);
    return true;
}

static void read_env_name(struct reader *r, const struct node *node, const struct field *f,
                          void *slot)
{
    const char *name = NULL;
    read_string(r, node, f, &name);
    if (name && env_name_valid(name))
        *(const char **)slot = name;
    else if (name)
        problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a variable's name", name);
}

/* Accepts empty values. For numbers and booleans, uses their text. */
static void read_env_value(struct reader *r, const struct node *node, const struct field *f,
                           void *slot)
{
    (void)f;
    if (node->kind >= NODE_LIST || node->kind == NODE_NULL)
        read_expect(r, node, NODE_STRING);
    else if (strlen(node->text) != node->len)
        problem_error(r->ps, RULE_VALUE, node, "has a NUL character in it");
    else
        *(const char **)slot = node->text;
}

static void read_env_map(struct reader *r, const struct node *node, struct env_var *var)
{
    static const struct field fields[] = {
        {"from", read_env_name, offsetof(struct env_var, from)},
        {"value", read_env_value, offsetof(struct env_var, value)},
        {"secret", read_bool, offsetof(struct env_var, secret)},
        {0},
    };
    read_members(r, node, fields, var);
    bool from = node_get(node, "from"), value = node_get(node, "value");
    if (!from && !value)
        problem_error(r->ps, RULE_REQUIRED, node, "needs 'from' or 'value'");
    else if (from && value)
        problem_error(r->ps, RULE_COMBINATION, node, "has both 'from' and 'value'");
}

static struct env_var *find_var(struct env_vars *vars, const char *name)
{
    for (size_t i = 0; i < vars->n; i++) {
        if (strcmp(vars->v[i].name, name) == 0)
            return &vars->v[i];
    }
    return NULL;
}

void read_env(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    struct env_vars *vars = slot;
    if (!read_expect(r, node, NODE_MAP))
        return;
    if (node->n > ENV_MAX) { /* we copy the defaults into every task that has variables */
        problem_error(r->ps, RULE_VALUE, node, "has more than %d variables", ENV_MAX);
        return;
    }
    struct env_vars inherited = *vars;
    struct env_vars out = {arena_array(r->a, inherited.n + node->n + 1, sizeof(*out.v)), 0};
    if (inherited.n)
        memcpy(out.v, inherited.v, inherited.n * sizeof(*out.v));
    out.n = inherited.n;
    node_each (member, node) {
        struct env_var var = {.name = member->key};
        bool is_good = check_name(r, member);
        if (member->kind == NODE_MAP)
            read_env_map(r, member, &var);
        else
            read_env_value(r, member, f, &var.value);
        if (!is_good)
            continue;
        struct env_var *old = find_var(&inherited, var.name);
        if (old)
            out.v[old - inherited.v] = var;
        else
            out.v[out.n++] = var;
    }
    *vars = out;
}
