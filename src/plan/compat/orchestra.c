/* Translates parallel-orchestra manifests, version 0.1. */
#include "plan/compat/compat.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MAX = 100, OLD_DEFAULT_RETRIES = 1 };

static const char old_timeout[] = "900s"; /* the fixed time limit of that tool */

static void check_version(struct node *root, struct problems *ps)
{
    struct node *version = node_get(root, "po_plan_version");
    if (!version) {
        version = node_get(root, "clade_plan_version");
        problem_error_key(ps, RULE_UNKNOWN, version, "'clade_plan_version' is no longer read");
        problem_hint(ps, "write po_plan_version: \"0.1\"");
    } else if (version->kind != NODE_STRING) {
        problem_error(ps, RULE_TYPE, version, "expected a string, got %s",
                      node_kind_name(version->kind));
        problem_hint(ps, "write po_plan_version: \"0.1\", in quotes");
    } else if (strcmp(version->text, "0.1") != 0) {
        problem_error(ps, RULE_VALUE, version, "version '%.80s' is not known", version->text);
        problem_hint(ps, "the only version is \"0.1\"");
    }
    node_unlink(root, version);
}

/* Removes keys that this tool treats as absent if they have no value. */
static void drop_without_value(struct node *map, const char *const *keys)
{
    for (; *keys; keys++) {
        struct node *node = node_get(map, *keys);
        if (node && node->kind == NODE_NULL)
            node_unlink(map, node);
    }
}

/* For that tool an empty path meant the manifest's own folder. */
static void loosen_cwd(struct node *root, struct arena *a)
{
    struct node *cwd = node_get(root, "cwd");
    if (!cwd || cwd->kind != NODE_STRING || cwd->len)
        return;
    compat_add_string(root, a, "cwd", ".", cwd);
    node_unlink(root, cwd);
}

/* Parses a text like Python's int(): with spaces around the number, and a sign. */
static int64_t text_int(const char *s)
{
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    return errno || end == s || end[strspn(end, " \t\r\n")] ? -1 : n;
}

/* That tool passed its numbers through int(): "3", true and 1.9 were valid, without a message. */
static void loosen_int(struct node *node)
{
    int64_t n = -1;
    if (node->kind == NODE_STRING)
        n = text_int(node->text);
    else if (node->kind == NODE_BOOL)
        n = node->truth;
    else if (node->kind == NODE_REAL && node->real > -1 && node->real < 1e9)
        n = (int64_t)node->real;
    if (n < 0)
        return;
    node->kind = NODE_INT;
    node->integer = n;
}

static void translate_retries(struct node *map, struct problems *ps)
{
    struct node *retry = compat_rename(map, "max_retries", "retry", ps);
    if (!retry)
        return;
    loosen_int(retry);
    if (retry->kind != NODE_INT) {
        problem_error(ps, RULE_TYPE, retry, "expected an integer, got %s",
                      node_kind_name(retry->kind));
        node_unlink(map, retry);
    } else if (retry->integer > RETRY_MAX) {
        problem_warn(ps, RULE_VALUE, retry, "%lld retries are more than %d; read as %d",
                     (long long)retry->integer, RETRY_MAX, RETRY_MAX);
        retry->integer = RETRY_MAX;
    }
}

static void translate_defaults(struct node *root, struct arena *a, struct problems *ps)
{
    struct node *defaults = compat_section(root, a, "defaults");
    if (defaults->kind != NODE_MAP)
        return;
    translate_retries(defaults, ps);
    if (!node_get(defaults, "retry"))
        compat_add(defaults, a, "retry", NODE_INT, root)->integer = OLD_DEFAULT_RETRIES;
    if (!node_get(defaults, "timeout"))
        compat_add_string(defaults, a, "timeout", old_timeout, root);
}

static void translate_hook(struct node *root, struct arena *a, const char *key, const char *on,
                           struct problems *ps)
{
    struct node *hook = node_get(root, key);
    if (!hook)
        return;
    node_unlink(root, hook);
    struct node *notify = node_get(root, "notify");
    if (!notify)
        notify = compat_add(root, a, "notify", NODE_LIST, root);
    if (notify->kind != NODE_LIST)
        return;
    hook->next = NULL;
    node_link(notify, hook, NULL);
    if (hook->kind != NODE_MAP)
        return;
    static const char *const required[] = {"webhook_url", NULL};
    compat_require(hook, required, ps);
    compat_rename(hook, "webhook_url", "webhook", ps);
    if (!node_get(hook, "webhook"))
        compat_add(hook, a, "desktop", NODE_BOOL, hook); /* avoid a second error */
    struct node *events = compat_add(hook, a, "on", NODE_LIST, hook);
    node_append(events, node_string(a, on, strlen(on), hook->pos));
}

static void translate_limits(struct node *root, struct arena *a, struct problems *ps)
{
    struct node *groups = node_get(root, "concurrency_limits");
    if (!groups)
        return;
    node_unlink(root, groups);
    struct node *limits = compat_section(root, a, "limits");
    if (limits->kind != NODE_MAP)
        return;
    if (node_get(limits, "groups")) {
        problem_error_key(ps, RULE_COMBINATION, groups,
                          "'concurrency_limits' and 'limits.groups' are the same thing");
        problem_hint(ps, "remove one of them");
        return;
    }
    node_link(limits, groups, "groups");
    if (groups->kind == NODE_MAP) {
        node_each (limit, groups)
            loosen_int(limit);
    }
}

static void refuse_forbidden(struct node *task, struct problems *ps)
{
    static const char *const forbidden[][2] = {
        {"cwd", "the plan has one 'cwd' for all its tasks"},
        {"timeout_sec", "write 'timeout: 15m'"},
        {"idle_timeout_sec", "write 'idle_timeout: 10m'"},
        {"retry_delay_sec", "delays between retries are chosen by the kind of failure"},
        {"retry_backoff_factor", "delays between retries are chosen by the kind of failure"},
    };
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        struct node *node = node_get(task, forbidden[i][0]);
        if (!node)
            continue;
        problem_error_key(ps, RULE_UNKNOWN, node, "a task cannot have '%s'", forbidden[i][0]);
        problem_hint(ps, "%s", forbidden[i][1]);
        node_unlink(task, node);
    }
}

/* For that tool, a task without a prompt runs the agent's own command. It also accepted tasks with
 * neither. */
static void set_default_prompt(struct node *task, struct arena *a, const struct node *agent,
                               struct problems *ps)
{
    bool named = agent && agent->kind == NODE_STRING;
    if (node_get(task, "prompt") || node_get(task, "prompt_file"))
        return;
    compat_add_string(task, a, "prompt", arena_printf(a, "/agent-%s", named ? agent->text : ""),
                      agent ? agent : task);
    if (named && !agent->len)
        problem_warn(ps, RULE_VALUE, agent, "is empty, and there is no prompt: nothing is asked");
}

static void translate_agent(struct node *task, struct arena *a, struct problems *ps)
{
    struct node *agent = node_get(task, "agent");
    set_default_prompt(task, a, agent, ps);
    if (agent && agent->kind != NODE_STRING)
        problem_error(ps, RULE_TYPE, agent, "expected a string, got %s",
                      node_kind_name(agent->kind));
    if (agent && (agent->kind != NODE_STRING || agent->len == 0))
        node_unlink(task, agent);
}

static void translate_task(struct node *task, struct arena *a, struct problems *ps)
{
    static const char *const required[] = {"agent", "read_only", NULL};
    static const char *const may_be_empty[] = {"env", "writes", "depends_on", "concurrency_group",
                                               NULL};
    drop_without_value(task, may_be_empty);
    refuse_forbidden(task, ps);
    compat_require(task, required, ps);
    compat_rename(task, "writes", "owns", ps);
    compat_rename(task, "concurrency_group", "group", ps);
    translate_retries(task, ps);
    translate_agent(task, a, ps);
}

void compat_orchestra(struct node *root, struct arena *a, struct problems *ps)
{
    static const char *const required[] = {"cwd", NULL};
    static const char *const may_be_empty[] = {"name",       "defaults",           "on_complete",
                                               "on_failure", "concurrency_limits", NULL};
    drop_without_value(root, may_be_empty);
    check_version(root, ps);
    compat_name(root, ps);
    loosen_cwd(root, a);
    compat_require(root, required, ps);
    translate_defaults(root, a, ps);
    translate_hook(root, a, "on_complete", "done", ps);
    translate_hook(root, a, "on_failure", "failed", ps);
    translate_limits(root, a, ps);
    struct node *tasks = node_get(root, "tasks");
    if (!tasks || tasks->kind != NODE_LIST)
        return;
    node_each (task, tasks) {
        if (task->kind == NODE_MAP)
            translate_task(task, a, ps);
    }
}
