#include "plan/decode/task.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "plan/decode/env_names.h"
#include "plan/words.h"

#include <string.h>

enum { ID_MAX = 64, FOREIGN_ID_MAX = 200, HINTS_MAX = 20 };

static const int64_t second = 1000, day = 24 * 60 * 60 * 1000;

/* Ids become parts of branch, file and folder names. */
bool task_id_valid(const char *s)
{
    size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return len > 0 && s[len] == '\0';
}

static void read_id(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    const char *id = read_scalar_text(r, node);
    if (!id)
        return;
    *(const char **)slot = id; /* keep a wrong id too: other tasks may refer to it */
    if (task_id_valid(id) && strlen(id) <= (r->lenient ? FOREIGN_ID_MAX : ID_MAX)) {
        if (strlen(id) > ID_MAX)
            problem_warn(r->ps, RULE_VALUE, node, "is longer than %d characters", ID_MAX);
    } else {
        problem_error(r->ps, RULE_VALUE, node, "'%.80s' cannot be the %s of a task", id, f->name);
        problem_hint(r->ps, "use 1 to %d letters, digits, '-' and '_'", ID_MAX);
    }
}

static void read_claims(struct reader *r, const struct node *node, const struct field *f,
                        void *slot)
{
    if (!read_expect(r, node, NODE_LIST))
        return;
    struct claim_list out = {.v = arena_array(r->a, node->n + 1, sizeof(*out.v))};
    node_each (item, node) {
        struct claim claim = {.node = item};
        read_string(r, item, f, &claim.text);
        if (claim.text)
            out.v[out.n++] = claim;
    }
    *(struct claim_list *)slot = out;
}

static void read_retry_times(struct reader *r, const struct node *node, const struct field *f,
                             void *slot)
{
    static const struct {
        const char *word;
        int value;
        int only; /* valid only for this class, or -1 */
    } words[] = {{"stop", RETRY_STOP, -1},
                 {"fail", RETRY_FAIL, -1},
                 {"park", RETRY_PARK, FAILURE_LIMIT},
                 {"repair", RETRY_REPAIR, FAILURE_CONFLICT}};
    const char *class_word = NULL;
    int *times = slot;
    if (node->kind != NODE_STRING) {
        int64_t n = PLAN_UNSET;
        read_int(r, node, f, &n);
        if (n >= 0)
            *times = (int)n;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (words[i].only >= 0 && strcmp(node->name, failure_names[words[i].only]) != 0)
            continue;
        class_word = words[i].only >= 0 ? words[i].word : class_word;
        if (strlen(words[i].word) == node->len && strcmp(node->text, words[i].word) == 0) {
            *times = words[i].value;
            return;
        }
    }
    problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a way to retry", node->text);
    problem_hint(r->ps, "give a number, 'fail' or 'stop'%s%s%s", class_word ? ", or '" : "",
                 class_word ? class_word : "", class_word ? "'" : "");
}

/* A bare number applies to failures that pass by themselves. */
static void read_retry(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    struct retry *retry = slot;
    if (node->kind == NODE_INT) {
        int64_t n = PLAN_UNSET;
        read_int(r, node, f, &n);
        if (n >= 0)
            retry->times[FAILURE_TRANSIENT] = retry->times[FAILURE_OVERLOADED] = (int)n;
        return;
    }
    if (node->kind != NODE_MAP) {
        problem_error(r->ps, RULE_TYPE, node, "expected an integer or a mapping, got %s",
                      node_kind_name(node->kind));
        problem_hint(r->ps, "give a number, or one for each class: {transient: 2, verify: 1}");
        return;
    }
    struct field classes[FAILURE_RETRY_COUNT + 1] = {0};
    for (int i = 0; i < FAILURE_RETRY_COUNT; i++) {
        classes[i] =
            (struct field){.name = failure_names[i],
                           .read = read_retry_times,
                           .offset = offsetof(struct retry, times) + (size_t)i * sizeof(int),
                           .min = f->min,
                           .max = f->max};
    }
    read_members(r, node, classes, retry);
}

static void read_executor(struct reader *r, const struct node *node, const struct field *f,
                          void *slot)
{
    const char *s = NULL;
    read_string(r, node, f, &s);
    if (!s)
        return;
    if (strcmp(s, "local") == 0) {
        *(const char **)slot = s;
        return;
    }
    bool planned = strcmp(s, "slurm") == 0 || strncmp(s, "ssh:", 4) == 0;
    problem_error(r->ps, RULE_VALUE, node,
                  planned ? "'%.80s' is not supported yet" : "'%.80s' is not an executor", s);
    problem_hint(r->ps, "agents run on this machine: leave 'executor' out, or write 'local'");
}

const struct field change_limits_fields[] = {
    {"files", read_count, offsetof(struct change_limits, files), .max = INT64_MAX},
    {"bytes", read_count, offsetof(struct change_limits, bytes), .max = INT64_MAX},
    {0},
};

static const struct field task_limits_fields[] = {
    {"memory", read_count, offsetof(struct task_limits, memory), .max = INT64_MAX},
    {"processes", read_count, offsetof(struct task_limits, processes), .max = INT64_MAX},
    {"cpu", read_int, offsetof(struct task_limits, cpu), .max = LIMIT_CPU_MAX},
    {"output", read_count, offsetof(struct task_limits, output), .max = INT64_MAX},
    {"change", read_map, offsetof(struct task_limits, change), .fields = change_limits_fields},
    {0},
};

const struct field budget_fields[] = {
    {"usd", read_usd, offsetof(struct budget, usd)},
    {"tokens", read_count, offsetof(struct budget, tokens), .min = 0, .max = INT64_MAX},
    {0},
};

static const struct field fallback_fields[] = {
    {"engine", read_word, offsetof(struct fallback, engine), .words = engine_words},
    {"model", read_string, offsetof(struct fallback, model)},
    {0},
};

/* Keys of a task. All except those with not_default are also keys of `defaults`. */
static const struct field task_fields[] = {
    {"id", read_id, offsetof(struct task, id), .not_default = true},
    {"title", read_string, offsetof(struct task, title)},
    {"prompt", read_string, offsetof(struct task, prompt), .not_default = true},
    {"prompt_file", read_string, offsetof(struct task, prompt_file), .not_default = true},
    {"depends_on", NULL, 0, .not_default = true},
    {"owns", read_claims, offsetof(struct task, owns), .not_default = true},
    {"agent", read_id, offsetof(struct task, agent)},
    {"engine", read_word, offsetof(struct task, engine), .words = engine_words},
    {"model", read_string, offsetof(struct task, model)},
    {"effort", read_word, offsetof(struct task, effort), .words = effort_words},
    {"max_turns", read_int, offsetof(struct task, max_turns), .min = 1, .max = 100000},
    {"engine_args", read_strings, offsetof(struct task, engine_args)},
    {"fallback", read_map, offsetof(struct task, fallback), .fields = fallback_fields},
    {"permissions", read_word, offsetof(struct task, permissions), .words = permissions_words},
    {"read_only", read_bool, offsetof(struct task, read_only)},
    {"hand_on", read_bool, offsetof(struct task, hand_on)},
    {"forbids", read_claims, offsetof(struct task, forbids)},
    {"order", read_int, offsetof(struct task, order), .min = -1000000000, .max = 1000000000},
    {"branch", read_branch_part, offsetof(struct task, branch)},
    {"group", read_string, offsetof(struct task, group)},
    {"estimate", read_duration, offsetof(struct task, estimate), .min = 0, .max = 30 * day},
    {"retry", read_retry, offsetof(struct task, retry), .min = 0, .max = 100},
    {"timeout", read_duration, offsetof(struct task, timeout), .min = second, .max = 30 * day},
    {"idle_timeout", read_duration, offsetof(struct task, idle_timeout), .min = second,
     .max = 30 * day},
    {"verify", read_verification, offsetof(struct task, verify)},
    {"env", read_env, offsetof(struct task, env)},
    {"budget", read_map, offsetof(struct task, budget), .fields = budget_fields},
    {"limits", read_map, offsetof(struct task, limits), .fields = task_limits_fields},
    {"executor", read_executor, offsetof(struct task, executor)},
    {"command", read_command, offsetof(struct task, command)},
    {"enforce", read_word, offsetof(struct task, enforce), .words = enforce_words},
    {0},
};

static struct task blank_task(void)
{
    struct task t = {
        .order = INT64_MIN,
        .estimate = PLAN_UNSET,
        .timeout = PLAN_UNSET,
        .idle_timeout = PLAN_UNSET,
        .max_turns = PLAN_UNSET,
        .budget = {PLAN_UNSET, PLAN_UNSET},
        .limits = TASK_LIMITS_INIT,
    };
    for (int i = 0; i < FAILURE_COUNT_; i++)
        t.retry.times[i] = PLAN_UNSET;
    return t;
}

static void refuse_default(struct reader *r, const struct node *node, const struct field *f,
                           void *slot)
{
    (void)slot;
    if (r->lenient)
        problem_warn_key(r->ps, RULE_UNKNOWN, node, "'%s' cannot be a default: it is ignored",
                         f->name);
    else
        problem_error_key(r->ps, RULE_UNKNOWN, node, "'%s' cannot be a default", f->name);
    problem_hint(r->ps, "each task has its own");
}

/* Reads the initial values of every task. */
static struct task read_defaults(struct reader *r, const struct node *node)
{
    struct field fields[ARRAY_LEN(task_fields)];
    memcpy(fields, task_fields, sizeof(fields));
    for (struct field *f = fields; f->name; f++) {
        if (f->not_default)
            f->read = refuse_default;
    }
    struct task t = blank_task();
    if (node)
        read_members(r, node, fields, &t);
    t.group_node = node_get(node, "group");
    t.engine_args_node = node_get(node, "engine_args");
    return t;
}

static void check_prompt(struct reader *r, const struct task *t)
{
    const struct node *text = node_get(t->node, "prompt");
    const struct node *file = node_get(t->node, "prompt_file");
    if (!text && !file)
        problem_error(r->ps, RULE_REQUIRED, t->node, "needs 'prompt' or 'prompt_file'");
    else if (text && file)
        problem_error(r->ps, RULE_COMBINATION, file, "a task has either 'prompt' or 'prompt_file'");
}

static void check_command(struct reader *r, struct task *t)
{
    const struct node *own_command = node_get(t->node, "command");
    bool given = t->command.shell || t->command.argv.n;
    bool used = t->engine == ENGINE_COMMAND || t->fallback.engine == ENGINE_COMMAND;
    if (used && !given && !own_command) {
        problem_error(r->ps, RULE_COMBINATION, t->node, "engine 'command' needs 'command'");
        problem_hint(r->ps, "command: [my-agent, --file, \"{prompt_file}\"]");
    } else if (given && !used && own_command) {
        problem_error_key(r->ps, RULE_COMBINATION, own_command,
                          "'command' is for 'engine: command'");
    } else if (!used) {
        t->command =
            (struct plan_command){0}; /* the default command does not apply to this engine */
    }
}

static void read_task(struct reader *r, struct node *node, struct task *t)
{
    t->node = node;
    if (!read_members(r, node, task_fields, t))
        return;
    if (!node_get(node, "id"))
        problem_error(r->ps, RULE_REQUIRED, node, "has no 'id'");
    t->prompt_file_node = node_get(node, "prompt_file");
    if (node_get(node, "group"))
        t->group_node = node_get(node, "group");
    if (node_get(node, "engine_args"))
        t->engine_args_node = node_get(node, "engine_args");
    check_prompt(r, t);
    check_command(r, t);
    if (t->read_only && t->owns.n && !r->lenient)
        problem_warn(r->ps, RULE_COMBINATION, node_get(node, "owns"),
                     "a read-only task changes nothing: what it owns has no effect");
}

/* The node of a key in a task; the task itself if the key is in the defaults. */
static const struct node *find_key_node(const struct task *t, const char *key)
{
    const struct node *node = node_get(t->node, key);
    return node ? node : t->node;
}

/* Reports the second of two tasks with the same id or branch. */
static void check_unique(struct reader *r, struct map *seen, const struct task *t,
                         const char *value, const char *key)
{
    if (!value)
        return;
    struct task *first = map_put(seen, value, strlen(value), (void *)t);
    if (first)
        problem_error(r->ps, RULE_DUPLICATE, find_key_node(t, key),
                      "the %s '%s' is taken by line %u", key, value,
                      find_key_node(first, key)->pos.line);
}

static void read_tasks(struct reader *r, struct plan *plan, const struct node *list,
                       const struct task *defaults)
{
    if (!read_expect(r, list, NODE_LIST)) {
        problem_hint(r->ps, "each task is an entry: `- id: ...` in YAML, [[%s]] in TOML",
                     list->key);
        return;
    }
    if (list->n == 0)
        problem_error(r->ps, RULE_VALUE, list, "is empty: a plan needs at least one task");
    plan->tasks = arena_array(r->a, list->n + 1, sizeof(*plan->tasks));
    automap struct map branches = {0};
    node_each (node, list) {
        struct task *t = &plan->tasks[plan->task_count];
        *t = *defaults;
        t->index = (uint32_t)plan->task_count++;
        read_task(r, node, t);
        check_unique(r, &plan->by_id, t, t->id, "id");
        check_unique(r, &branches, t, t->branch, "branch");
    }
}

static void report_unknown_dependency(struct reader *r, const struct plan *plan,
                                      const struct node *node, const char *id, unsigned *hints)
{
    problem_error(r->ps, RULE_DEPENDENCY, node, "no task has the id '%.80s'", id);
    if (++*hints > HINTS_MAX) /* do not search all ids for every line of a broken plan */
        return;
    const char **ids = mem_array(plan->task_count, sizeof(*ids));
    size_t n = 0;
    for (size_t i = 0; i < plan->task_count; i++) {
        if (plan->tasks[i].id)
            ids[n++] = plan->tasks[i].id;
    }
    const char *near = text_nearest(id, ids, n);
    if (near)
        problem_hint(r->ps, "did you mean '%s'?", near);
    free(ids);
}

/* `last` stores, per task, the last task that named it: this removes duplicates. */
static void resolve_deps(struct reader *r, struct plan *plan, struct task *t,
                         uint32_t *last_dependant, unsigned *hints)
{
    const struct node *list = node_get(t->node, "depends_on");
    if (!list || !read_expect(r, list, NODE_LIST))
        return;
    t->deps = arena_array(r->a, list->n + 1, sizeof(*t->deps));
    node_each (node, list) {
        const char *id = read_scalar_text(r, node);
        if (!id)
            continue;
        struct task *dep = plan_find(plan, id);
        if (!dep) {
            report_unknown_dependency(r, plan, node, id, hints);
        } else if (dep == t) {
            problem_error(r->ps, RULE_DEPENDENCY, node, "'%s' depends on itself", id);
        } else if (last_dependant[dep->index] != t->index + 1) {
            last_dependant[dep->index] = t->index + 1;
            t->deps[t->dep_count++] = dep->index;
        }
    }
}

static void resolve_all_deps(struct reader *r, struct plan *plan)
{
    uint32_t *last_dependant = mem_array(plan->task_count, sizeof(*last_dependant));
    unsigned hints = 0;
    for (size_t i = 0; i < plan->task_count; i++)
        resolve_deps(r, plan, &plan->tasks[i], last_dependant, &hints);
    free(last_dependant);
}

static void resolve_groups(struct reader *r, struct plan *plan)
{
    automap struct map by_name = {0};
    for (size_t i = 0; i < plan->group_count; i++)
        map_put(&by_name, plan->groups[i].name, strlen(plan->groups[i].name), &plan->groups[i]);
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        struct group *g = t->group ? map_get(&by_name, t->group, strlen(t->group)) : NULL;
        if (g) {
            g->tasks++;
        } else if (t->group) {
            problem_error(r->ps, RULE_GROUP, t->group_node ? t->group_node : t->node,
                          "group '%.80s' has no limit", t->group);
            problem_hint(r->ps, "add it to %s: {%.80s: 2}",
                         plan->kind == PLAN_ORCHESTRA ? "concurrency_limits" : "limits.groups",
                         t->group);
        }
    }
    for (size_t i = 0; i < plan->group_count; i++) {
        if (!plan->groups[i].tasks)
            problem_warn(r->ps, RULE_GROUP, plan->groups[i].node, "no task is in this group");
    }
}

void plan_read_tasks(struct reader *r, struct plan *plan, const struct node *root)
{
    struct task defaults = read_defaults(r, node_get(root, "defaults"));
    const struct node *tasks = node_get(root, "tasks");
    if (tasks)
        read_tasks(r, plan, tasks, &defaults);
    else
        problem_error(r->ps, RULE_REQUIRED, root, "the plan has no 'tasks'");
    resolve_all_deps(r, plan);
    resolve_groups(r, plan);
}
