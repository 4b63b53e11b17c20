#include "plan/plan.h"

#include "base/mem.h"
#include "plan/compat/compat.h"
#include "plan/decode/task.h"
#include "plan/notify.h"
#include "plan/words.h"

#include <string.h>

static void read_groups(struct reader *r, const struct node *node, const struct field *f,
                        void *slot)
{
    struct plan *plan = slot;
    if (!read_expect(r, node, NODE_MAP))
        return;
    plan->groups = arena_array(r->a, node->n + 1, sizeof(*plan->groups));
    node_each (member, node) {
        struct group *g = &plan->groups[plan->group_count++];
        *g = (struct group){.name = member->key, .node = member, .limit = 1};
        if (strlen(member->key) != member->key_len || member->key_len == 0)
            problem_error_key(r->ps, RULE_VALUE, member, "a group needs a name");
        read_int(r, member, f, &g->limit);
    }
}

static void read_version(struct reader *r, const struct node *node, const struct field *f,
                         void *slot)
{
    (void)f;
    (void)slot;
    if (read_expect(r, node, NODE_INT) && node->integer != 1)
        problem_error(r->ps, RULE_VALUE, node, "this program reads version 1 of the plan format");
}

/* Accepts only known placeholders, so that a typo never reaches a commit message. */
static void read_message(struct reader *r, const struct node *node, const struct field *f,
                         void *slot)
{
    static const char *const known[] = {"{id}", "{title}", "{run}", "{engine}"};
    const char *s = NULL;
    read_string(r, node, f, &s);
    if (!s)
        return;
    for (const char *at = s; (at = strchr(at, '{')); at++) {
        size_t word = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
        if (!word || at[word + 1] != '}')
            continue;
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            found = found || strncmp(at, known[i], strlen(known[i])) == 0;
        if (!found) {
            problem_error(r->ps, RULE_VALUE, node, "unknown placeholder '%.*s'", (int)word + 2, at);
            problem_hint(r->ps, "use {id}, {title}, {run} or {engine}");
            return;
        }
    }
    *(const char **)slot = s;
}

static const struct field limits_fields[] = {
    {"workers", read_int, offsetof(struct plan, workers), .min = 1, .max = 1024},
    {"groups", read_groups, 0, .min = 1, .max = 256},
    {"budget", read_map, offsetof(struct plan, budget), .fields = budget_fields},
    {"memory", read_count, offsetof(struct plan, task_limits.memory), .max = INT64_MAX},
    {"processes", read_count, offsetof(struct plan, task_limits.processes), .max = INT64_MAX},
    {"cpu", read_int, offsetof(struct plan, task_limits.cpu), .max = LIMIT_CPU_MAX},
    {"output", read_count, offsetof(struct plan, task_limits.output), .max = INT64_MAX},
    {"change", read_map, offsetof(struct plan, task_limits.change), .fields = change_limits_fields},
    {0},
};

static const struct field workspace_fields[] = {
    {"provider", read_word, offsetof(struct plan, provider), .words = provider_words},
    {"dir", read_string, offsetof(struct plan, workspace_dir)},
    {"include", read_strings, offsetof(struct plan, include)},
    {"share", read_strings, offsetof(struct plan, share)},
    {"salvage", read_strings, offsetof(struct plan, salvage)},
    {"setup", read_command, offsetof(struct plan, setup)},
    {"teardown", read_command, offsetof(struct plan, teardown)},
    {"ports", read_int, offsetof(struct plan, ports), .min = 0, .max = 256},
    {0},
};

static const struct field landing_fields[] = {
    {"at", read_word, offsetof(struct plan, land_at), .words = land_at_words},
    {"style", read_word, offsetof(struct plan, land_style), .words = land_style_words},
    {"budget", read_word, offsetof(struct plan, land_budget), .words = land_budget_words},
    {"author", read_word, offsetof(struct plan, land_author), .words = land_author_words},
    {"verify", read_verification, offsetof(struct plan, land_verify)},
    {0},
};

static const struct field commit_fields[] = {
    {"hooks", read_bool, offsetof(struct plan, commit_hooks)},
    {"message", read_message, offsetof(struct plan, commit_message)},
    {0},
};

static const struct field log_fields[] = {
    {"command", read_command, offsetof(struct plan, log)},
    {0},
};

static const struct field plan_fields[] = {
    {"$schema", NULL, 0}, /* for editors only */
    {"anabranch", read_version, 0},
    {"name", read_string, offsetof(struct plan, name)},
    {"base", read_branch, offsetof(struct plan, base)},
    {"cwd", read_string, offsetof(struct plan, cwd)},
    {"overlap", read_word, offsetof(struct plan, overlap), .words = overlap_words},
    {"enforce", read_word, offsetof(struct plan, enforce), .words = enforce_words},
    {"limits", read_map, 0, .fields = limits_fields},
    {"workspace", read_map, 0, .fields = workspace_fields},
    {"landing", read_map, 0, .fields = landing_fields},
    {"commit", read_map, 0, .fields = commit_fields},
    {"notify", read_notify, offsetof(struct plan, notify)},
    {"log", read_map, 0, .fields = log_fields},
    {"defaults", NULL, 0},
    {"tasks", NULL, 0},
    {0},
};

static int fail_not_a_plan(struct problems *ps, const struct node *root)
{
    if (root->kind == NODE_NULL)
        problem_error(ps, RULE_TYPE, root, "the file is empty");
    else
        problem_error(ps, RULE_TYPE, root, "a plan is a mapping with 'tasks', not %s",
                      node_kind_name(root->kind));
    return problem_hint(ps, "`anabranch init` writes a first plan");
}

static int decode_plan(struct plan *plan, const struct node *root, enum plan_kind kind,
                       struct problems *ps)
{
    size_t errors = ps->errors;
    plan->kind = kind;
    plan->claims_from_file = kind == PLAN_ORCHESTRA;
    struct reader r = {.a = &plan->arena, .ps = ps, .lenient = kind != PLAN_TASKS};
    read_members(&r, root, plan_fields, plan);
    plan->cwd_node = node_get(root, "cwd");
    plan_read_tasks(&r, plan, root);
    return ps->errors > errors ? -1 : 0;
}

static const struct plan unset = {
    .workers = PLAN_UNSET,
    .ports = PLAN_UNSET,
    .budget = {PLAN_UNSET, PLAN_UNSET},
    .task_limits = TASK_LIMITS_INIT,
};

int plan_decode(struct plan *plan, struct node *root, struct arena *tree_arena, struct problems *ps)
{
    *plan = unset;
    if (root->kind != NODE_MAP)
        return fail_not_a_plan(ps, root);
    size_t errors = ps->errors;
    enum plan_kind kind = compat_translate(root, tree_arena, ps, &plan->batches);
    (void)decode_plan(plan, root, kind, ps);
    return ps->errors > errors ? -1 : 0;
}

int plan_decode_encoded(struct plan *plan, const struct node *root, enum plan_kind kind,
                        struct problems *ps)
{
    *plan = unset;
    return root->kind == NODE_MAP ? decode_plan(plan, root, kind, ps) : fail_not_a_plan(ps, root);
}

void plan_done(struct plan *plan)
{
    map_done(&plan->by_id);
    arena_done(&plan->arena);
}

const char *task_name(const struct task *t)
{
    return t->id ? t->id : "(no id)";
}

struct task *plan_find(const struct plan *plan, const char *id)
{
    return map_get(&plan->by_id, id, strlen(id));
}

const char *plan_kind_name(enum plan_kind kind)
{
    static const char *const names[] = {
        [PLAN_TASKS] = "tasks",
        [PLAN_ORCHESTRA] = "parallel-orchestra",
        [PLAN_THREADS] = "threads",
        [PLAN_BATCHES] = "batches",
    };
    return names[kind];
}

static void forget_claims(struct claim_list *claims)
{
    for (size_t i = 0; i < claims->n; i++)
        claims->v[i].node = NULL;
}

void plan_forget_tree(struct plan *plan)
{
    plan->cwd_node = NULL;
    for (size_t i = 0; i < plan->group_count; i++)
        plan->groups[i].node = NULL;
    for (size_t i = 0; i < plan->batches.n; i++)
        plan->batches.v[i].node = NULL;
    for (size_t i = 0; i < plan->task_count; i++) {
        struct task *t = &plan->tasks[i];
        t->node = t->prompt_file_node = t->engine_args_node = t->group_node = NULL;
        forget_claims(&t->owns);
        forget_claims(&t->forbids);
    }
}
