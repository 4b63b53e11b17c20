#include "view/report/details.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "git/git.h"
#include "plan/failure.h"

#include <string.h>

/* Describes each class of failure to people who see the result only in a CI system. */
static const char *const rules[FAILURE_COUNT_] = {
    [FAILURE_AUTH] =
        "The agent program is not logged in, its key was refused, or its account has no credit",
    [FAILURE_LIMIT] = "A usage limit was reached",
    [FAILURE_OVERLOADED] = "The model's provider was overloaded",
    [FAILURE_TRANSIENT] = "The agent failed for a reason that may be temporary",
    [FAILURE_TIMEOUT] = "The task exceeded its timeout",
    [FAILURE_IDLE] = "The agent was silent for too long",
    [FAILURE_REFUSED] = "The agent refused the task",
    [FAILURE_CONTEXT] = "The conversation did not fit into the model's context",
    [FAILURE_BUDGET] = "A budget was exceeded",
    [FAILURE_NO_CHANGE] = "The task changed nothing",
    [FAILURE_SCOPE] = "The task changed paths that it does not own",
    [FAILURE_VERIFY] = "The task's work did not pass verification on the merged tree",
    [FAILURE_CONFLICT] = "The task's work conflicts with work that landed before",
    [FAILURE_SETUP] =
        "Its workspace could not be prepared, or its agent could not be started as asked",
    [FAILURE_STOPPED] = "The user stopped the task or the run",
    [FAILURE_INTERNAL] = "The program or the machine failed",
};

struct sarif {
    const struct report_details *m;
    struct arena *a;
    struct node *results;
    const char *plan; /* path of the plan in the repository; NULL: outside */
};

/* Encodes a path for a URI. Also encodes colons: text before a colon would be a scheme. */
static char *encode_path(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/";
    autobuf struct buf out = BUF_INIT;
    for (; *path; path++) {
        if (strchr(plain, *path))
            buf_addch(&out, *path);
        else
            buf_addf(&out, "%%%02X", (unsigned char)*path);
    }
    return buf_steal(&out);
}

/* The path of the plan in the run's repository. */
static char *find_plan(const struct report_details *m)
{
    const char *slash = m->plan_file ? strrchr(m->plan_file, '/') : NULL;
    if (!slash || !m->git_dir)
        return NULL;
    autofree char *dir = mem_dup(m->plan_file, (size_t)(slash - m->plan_file) + 1);
    autorepo struct git_repo repo = {0};
    if (git_open(&repo, dir, NULL) || !repo.root || strcmp(repo.common, m->git_dir) != 0)
        return NULL;
    return mem_printf("%s%s%s", repo.prefix, *repo.prefix ? "/" : "", slash + 1);
}

/* CI systems require a line; for a whole file we give the first. */
static void put_place(struct sarif *s, struct node *result, const char *path)
{
    struct node *list = node_put_list(s->a, result, "locations");
    if (!path)
        return;
    autofree char *uri = encode_path(path);
    struct node *physical = node_put_map(s->a, node_add_map(s->a, list), "physicalLocation");
    struct node *artifact = node_put_map(s->a, physical, "artifactLocation");
    node_put_string(s->a, artifact, "uri", uri);
    node_put_string(s->a, artifact, "uriBaseId", "SRCROOT");
    node_put_int(s->a, node_put_map(s->a, physical, "region"), "startLine", 1);
}

static enum failure get_failure(const struct report_task *t)
{
    for (int i = 0; t->row.failure && i < FAILURE_COUNT_; i++) {
        if (strcmp(t->row.failure, failure_names[i]) == 0)
            return (enum failure)i;
    }
    return t->end == REPORT_CONFLICTED ? FAILURE_CONFLICT : FAILURE_INTERNAL;
}

static void put_text(struct sarif *s, struct node *map, const char *key, const char *text)
{
    autobuf struct buf line = BUF_INIT;
    text_add_harmless(&line, text);
    node_put_string(s->a, node_put_map(s->a, map, key), "text", line.s);
}

static void put_facts(struct sarif *s, struct node *result, const struct report_task *t)
{
    struct node *map = node_put_map(s->a, result, "properties");
    node_put_string(s->a, map, "task", t->row.id);
    node_put_string(s->a, map, "title", t->row.title);
    node_put_string(s->a, map, "state", t->row.state);
    node_put_int(s->a, map, "attempts", t->row.attempts);
    node_put_string(s->a, map, "commit", t->row.commit);
}

/* The same task and path count as the same result in the next run. */
static void add_result(struct sarif *s, const struct report_task *t, enum failure rule,
                       const char *level, const char *path, const char *text)
{
    struct node *result = node_add_map(s->a, s->results);
    autofree char *mark = mem_printf("%s/%s/%s", failure_names[rule], t->row.id, path ? path : "");
    node_put_string(s->a, result, "ruleId", failure_names[rule]);
    node_put_int(s->a, result, "ruleIndex", rule);
    node_put_string(s->a, result, "level", level);
    put_text(s, result, "message", text);
    put_place(s, result, path ? path : s->plan);
    node_put_string(s->a, node_put_map(s->a, result, "partialFingerprints"), "task/v1", mark);
    put_facts(s, result, t);
}

static void add_outside_paths(struct sarif *s, const struct report_task *t)
{
    const struct report_life *l = report_life(s->m, t);
    bool failed = t->end == REPORT_FAILED && get_failure(t) == FAILURE_SCOPE;
    for (size_t i = 0; i < l->outside_paths.n; i++) {
        autofree char *text = mem_printf("Task %s changed %s, which it does not own", t->row.id,
                                         l->outside_paths.v[i]);
        add_result(s, t, FAILURE_SCOPE, failed ? "error" : "warning", l->outside_paths.v[i], text);
    }
}

static void add_conflicts(struct sarif *s, const struct report_task *t)
{
    const struct report_life *l = report_life(s->m, t);
    for (size_t i = 0; i < l->conflicts.n; i++) {
        autofree char *text = mem_printf("Task %s conflicts with work that landed before, in %s",
                                         t->row.id, l->conflicts.v[i]);
        add_result(s, t, FAILURE_CONFLICT, "error", l->conflicts.v[i], text);
    }
}

static void add_failure(struct sarif *s, const struct report_task *t)
{
    autobuf struct buf text = BUF_INIT;
    enum failure rule = get_failure(t);
    buf_addf(&text, "Task %s failed", t->row.id);
    if (t->row.reason)
        buf_addf(&text, ": %s", t->row.reason);
    add_result(s, t, rule, "error", NULL, text.s);
}

/* A warning: the task has landed. */
static void add_further_work(struct sarif *s, const struct report_task *t)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "Task %s has landed, but ", t->row.id);
    report_task_add_further_work(t, &text);
    add_result(s, t, get_failure(t), "warning", NULL, text.s);
}

static void add_task(struct sarif *s, const struct report_task *t)
{
    const struct report_life *l = report_life(s->m, t);
    add_outside_paths(s, t);
    if (t->end == REPORT_CONFLICTED && l->conflicts.n)
        add_conflicts(s, t);
    else if (t->end == REPORT_CONFLICTED ||
             (t->end == REPORT_FAILED && !(get_failure(t) == FAILURE_SCOPE && l->outside_paths.n)))
        add_failure(s, t);
    else if (report_task_failed_after_landing(t))
        add_further_work(s, t);
}

static void put_tool(struct sarif *s, struct node *run)
{
    struct node *driver = node_put_map(s->a, node_put_map(s->a, run, "tool"), "driver");
    node_put_string(s->a, driver, "name", "anabranch");
    node_put_string(s->a, driver, "version", ANABRANCH_VERSION);
    struct node *list = node_put_list(s->a, driver, "rules");
    for (int i = 0; i < FAILURE_COUNT_; i++) {
        struct node *rule = node_add_map(s->a, list);
        node_put_string(s->a, rule, "id", failure_names[i]);
        put_text(s, rule, "shortDescription", rules[i]);
        node_put_string(s->a, node_put_map(s->a, rule, "defaultConfiguration"), "level", "error");
    }
}

static void put_invocation(struct sarif *s, struct node *run)
{
    const struct store_run *row = &s->m->r->row;
    struct node *map = node_add_map(s->a, node_put_list(s->a, run, "invocations"));
    node_put_bool(s->a, map, "executionSuccessful", row->finished && row->exit_code == 0);
    if (row->finished)
        node_put_int(s->a, map, "exitCode", row->exit_code);
    if (row->started)
        node_put_time(s->a, map, "startTimeUtc", row->started);
    if (row->finished)
        node_put_time(s->a, map, "endTimeUtc", row->finished);
}

static void put_run(struct sarif *s, struct node *run)
{
    const struct report *r = s->m->r;
    put_tool(s, run);
    put_invocation(s, run);
    autofree char *id = mem_printf("anabranch/%s", r->row.id);
    node_put_string(s->a, node_put_map(s->a, run, "automationDetails"), "id", id);
    struct node *bases = node_put_map(s->a, run, "originalUriBaseIds");
    put_text(s, node_put_map(s->a, bases, "SRCROOT"), "description", "The top of the repository");
    s->results = node_put_list(s->a, run, "results");
    for (size_t i = 0; i < r->n; i++)
        add_task(s, &r->tasks[i]);
}

void report_sarif(struct report_details *m, struct buf *out)
{
    autoarena struct arena a = {0};
    autofree char *plan = find_plan(m);
    struct sarif s = {.m = m, .a = &a, .plan = plan};
    struct node *root = node_new_map(&a);
    node_put_string(
        &a, root, "$schema",
        "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json");
    node_put_string(&a, root, "version", "2.1.0");
    put_run(&s, node_add_map(&a, node_put_list(&a, root, "runs")));
    doc_write_lines(out, root);
}
