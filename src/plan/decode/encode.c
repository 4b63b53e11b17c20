#include "plan/plan.h"

#include "base/node/node_build.h"
#include "plan/words.h"

#include <string.h>

/* The mapping that is being filled. */
struct encoder {
    struct arena *a;
    struct node *map;
};

static struct encoder put_map(struct encoder e, const char *key)
{
    return (struct encoder){e.a, node_put_map(e.a, e.map, key)};
}

static void put_string(struct encoder e, const char *key, const char *s)
{
    node_put_string(e.a, e.map, key, s);
}

static void put_int(struct encoder e, const char *key, int64_t n)
{
    node_put_int(e.a, e.map, key, n);
}

static void put_set_int(struct encoder e, const char *key, int64_t n)
{
    if (n != PLAN_UNSET)
        put_int(e, key, n);
}

/* Writes seconds as a number, other durations with a unit, as in a plan. */
static void put_duration(struct encoder e, const char *key, int64_t ms)
{
    if (ms == PLAN_UNSET)
        return;
    if (ms % 1000 == 0)
        put_int(e, key, ms / 1000);
    else
        put_string(e, key, arena_printf(e.a, "%lldms", (long long)ms));
}

static void put_bool(struct encoder e, const char *key, bool truth)
{
    if (truth)
        node_put_bool(e.a, e.map, key, true);
}

static void put_word(struct encoder e, const char *key, const char *const *words, int value)
{
    if (value)
        put_string(e, key, words[value]);
}

static void put_strings(struct encoder e, const char *key, const struct strings *strings)
{
    if (!strings->n)
        return;
    struct node *list = node_put_list(e.a, e.map, key);
    for (size_t i = 0; i < strings->n; i++)
        node_add_string(e.a, list, strings->v[i]);
}

static void put_command(struct encoder e, const char *key, const struct plan_command *cmd)
{
    put_string(e, key, cmd->shell);
    put_strings(e, key, &cmd->argv);
}

static void put_verification(struct encoder e, const struct plan_command *cmd)
{
    if (!cmd->clean) {
        put_command(e, "verify", cmd);
        return;
    }
    struct encoder inner = put_map(e, "verify");
    put_command(inner, "command", cmd);
    put_bool(inner, "clean", true);
}

static void put_budget(struct encoder e, const struct budget *b)
{
    if (b->usd < 0 && b->tokens < 0)
        return;
    struct encoder inner = put_map(e, "budget");
    if (b->usd >= 0)
        node_put_real(e.a, inner.map, "usd", b->usd);
    put_set_int(inner, "tokens", b->tokens);
}

static void put_fallback(struct encoder e, const struct fallback *f)
{
    if (!f->engine && !f->model)
        return;
    struct encoder inner = put_map(e, "fallback");
    put_word(inner, "engine", engine_words, (int)f->engine);
    put_string(inner, "model", f->model);
}

static bool are_set(const struct task_limits *limits)
{
    return limits->memory >= 0 || limits->processes >= 0 || limits->cpu >= 0 ||
           limits->output >= 0 || limits->change.files >= 0 || limits->change.bytes >= 0;
}

static void put_task_limits(struct encoder e, const struct task_limits *limits)
{
    put_set_int(e, "memory", limits->memory);
    put_set_int(e, "processes", limits->processes);
    put_set_int(e, "cpu", limits->cpu);
    put_set_int(e, "output", limits->output);
    if (limits->change.files >= 0 || limits->change.bytes >= 0) {
        struct encoder change = put_map(e, "change");
        put_set_int(change, "files", limits->change.files);
        put_set_int(change, "bytes", limits->change.bytes);
    }
}

static void put_retry(struct encoder e, const struct retry *retry)
{
    struct encoder inner = {e.a, NULL};
    for (int i = 0; i < FAILURE_RETRY_COUNT; i++) {
        int times = retry->times[i];
        if (times == PLAN_UNSET)
            continue;
        if (!inner.map)
            inner = put_map(e, "retry");
        if (times >= 0)
            put_int(inner, failure_names[i], times);
        else
            put_string(inner, failure_names[i],
                       times == RETRY_PARK     ? "park"
                       : times == RETRY_STOP   ? "stop"
                       : times == RETRY_REPAIR ? "repair"
                                               : "fail");
    }
}

static void put_env(struct encoder e, const struct env_vars *env)
{
    if (!env->n)
        return;
    struct encoder inner = put_map(e, "env");
    for (size_t i = 0; i < env->n; i++) {
        const struct env_var *var = &env->v[i];
        if (!var->from && !var->secret) {
            put_string(inner, var->name, var->value);
            continue;
        }
        struct encoder details = put_map(inner, var->name);
        put_string(details, "from", var->from);
        put_string(details, "value", var->secret && var->value ? "(secret)" : var->value);
        put_bool(details, "secret", var->secret);
    }
}

static void put_claims(struct encoder e, const char *key, const struct claim_list *claims)
{
    if (!claims->n)
        return;
    struct node *list = node_put_list(e.a, e.map, key);
    for (size_t i = 0; i < claims->n; i++)
        node_add_string(e.a, list, claims->v[i].text);
}

static void put_deps(struct encoder e, const struct plan *plan, const struct task *t)
{
    if (!t->dep_count)
        return;
    struct node *list = node_put_list(e.a, e.map, "depends_on");
    for (size_t i = 0; i < t->dep_count; i++)
        node_add_string(e.a, list, plan->tasks[t->deps[i]].id);
}

struct node *plan_encode_task(const struct plan *plan, const struct task *t, struct arena *a)
{
    struct encoder e = {a, node_new_map(a)};
    put_string(e, "id", t->id);
    put_string(e, "title", t->title);
    put_string(e, "prompt", t->prompt);
    put_string(e, "prompt_file", t->prompt_file);
    put_string(e, "agent", t->agent);
    put_word(e, "engine", engine_words, (int)t->engine);
    put_string(e, "model", t->model);
    put_word(e, "effort", effort_words, (int)t->effort);
    put_set_int(e, "max_turns", t->max_turns);
    put_strings(e, "engine_args", &t->engine_args);
    put_fallback(e, &t->fallback);
    put_word(e, "permissions", permissions_words, (int)t->permissions);
    put_bool(e, "read_only", t->read_only);
    put_bool(e, "hand_on", t->hand_on);
    put_deps(e, plan, t);
    put_claims(e, "owns", &t->owns);
    put_claims(e, "forbids", &t->forbids);
    if (t->order != INT64_MIN)
        put_int(e, "order", t->order);
    put_string(e, "branch", t->branch);
    put_string(e, "group", t->group);
    put_duration(e, "estimate", t->estimate);
    put_duration(e, "timeout", t->timeout);
    put_duration(e, "idle_timeout", t->idle_timeout);
    put_retry(e, &t->retry);
    put_verification(e, &t->verify);
    put_env(e, &t->env);
    put_budget(e, &t->budget);
    if (are_set(&t->limits))
        put_task_limits(put_map(e, "limits"), &t->limits);
    put_string(e, "executor", t->executor);
    put_command(e, "command", &t->command);
    put_word(e, "enforce", enforce_words, (int)t->enforce);
    return e.map;
}

void plan_reveal(const struct task *t, struct node *encoded)
{
    const struct node *env = node_get(encoded, "env");
    for (size_t i = 0; i < t->env.n; i++) {
        const struct env_var *var = &t->env.v[i];
        struct node *value =
            var->secret && var->value ? node_get(node_get(env, var->name), "value") : NULL;
        if (value) {
            value->text = var->value;
            value->len = strlen(var->value);
        }
    }
}

static const char *find_secret(const struct plan *plan, const char *id, const char *name)
{
    const struct task *t = plan_find(plan, id);
    for (size_t i = 0; t && i < t->env.n; i++) {
        if (t->env.v[i].value && strcmp(t->env.v[i].name, name) == 0)
            return t->env.v[i].value;
    }
    return NULL;
}

const struct env_var *plan_recall(struct plan *plan, const struct plan *from,
                                  const struct task **ret_task)
{
    for (size_t t = 0; t < plan->task_count; t++) {
        struct env_vars *env = &plan->tasks[t].env;
        for (size_t i = 0; i < env->n; i++) {
            if (!env->v[i].secret || !env->v[i].value)
                continue;
            const char *value = find_secret(from, plan->tasks[t].id, env->v[i].name);
            if (!value) {
                *ret_task = &plan->tasks[t];
                return &env->v[i];
            }
            env->v[i].value = arena_str(&plan->arena, value);
        }
    }
    return NULL;
}

static void put_limits(struct encoder e, const struct plan *plan)
{
    struct encoder limits = put_map(e, "limits");
    put_set_int(limits, "workers", plan->workers);
    if (plan->group_count) {
        struct encoder groups = put_map(limits, "groups");
        for (size_t i = 0; i < plan->group_count; i++)
            put_int(groups, plan->groups[i].name, plan->groups[i].limit);
    }
    put_budget(limits, &plan->budget);
    put_task_limits(limits, &plan->task_limits);
}

static void put_workspace(struct encoder e, const struct plan *plan)
{
    struct encoder workspace = put_map(e, "workspace");
    put_word(workspace, "provider", provider_words, (int)plan->provider);
    put_string(workspace, "dir", plan->workspace_dir);
    put_strings(workspace, "include", &plan->include);
    put_strings(workspace, "share", &plan->share);
    put_strings(workspace, "salvage", &plan->salvage);
    put_command(workspace, "setup", &plan->setup);
    put_command(workspace, "teardown", &plan->teardown);
    put_set_int(workspace, "ports", plan->ports);
}

static void put_landing(struct encoder e, const struct plan *plan)
{
    struct encoder landing = put_map(e, "landing");
    put_word(landing, "at", land_at_words, (int)plan->land_at);
    put_word(landing, "style", land_style_words, (int)plan->land_style);
    put_word(landing, "budget", land_budget_words, (int)plan->land_budget);
    put_word(landing, "author", land_author_words, (int)plan->land_author);
    put_verification(landing, &plan->land_verify);
    struct encoder commit = put_map(e, "commit");
    put_bool(commit, "hooks", plan->commit_hooks);
    put_string(commit, "message", plan->commit_message);
}

static void put_notify(struct encoder e, const struct plan *plan)
{
    struct node *list = node_put_list(e.a, e.map, "notify");
    for (size_t i = 0; i < plan->notify.n; i++) {
        const struct notify *n = &plan->notify.v[i];
        struct encoder entry = {e.a, node_add_map(e.a, list)};
        struct node *on = node_put_list(e.a, entry.map, "on");
        for (int bit = 0; notify_words[bit]; bit++) {
            if (n->on & 1u << bit)
                node_add_string(e.a, on, notify_words[bit]);
        }
        put_string(entry, "webhook", n->webhook);
        put_command(entry, "command", &n->command);
        put_bool(entry, "desktop", n->desktop);
        put_bool(entry, "bell", n->bell);
    }
}

/* Removes empty sections. */
static void drop_empty(struct node *map)
{
    for (struct node *member = map->first, *next; member; member = next) {
        next = member->next;
        if (member->kind >= NODE_LIST && member->n == 0)
            node_unlink(map, member);
    }
}

struct node *plan_encode_frame(const struct plan *plan, struct arena *a)
{
    struct encoder e = {a, node_new_map(a)};
    put_string(e, "name", plan->name);
    put_string(e, "base", plan->base);
    put_string(e, "cwd", plan->cwd);
    put_word(e, "overlap", overlap_words, (int)plan->overlap);
    put_word(e, "enforce", enforce_words, (int)plan->enforce);
    put_limits(e, plan);
    put_workspace(e, plan);
    put_landing(e, plan);
    put_notify(e, plan);
    put_command(put_map(e, "log"), "command", &plan->log);
    drop_empty(e.map);
    if (plan->notify.said && !plan->notify.n)
        node_put_list(a, e.map, "notify");
    return e.map;
}

struct node *plan_encode(const struct plan *plan, struct arena *a)
{
    struct node *map = plan_encode_frame(plan, a);
    struct node *tasks = node_put_list(a, map, "tasks");
    for (size_t i = 0; i < plan->task_count; i++)
        node_append(tasks, plan_encode_task(plan, &plan->tasks[i], a));
    return map;
}
