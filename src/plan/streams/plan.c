/*
 * Builds the plan in which each stream is a task. Settings that all its agents share apply to the
 * session; sums are added up; conflicting settings are an error, because a guess would drop one of
 * them.
 */
#include "plan/streams/streams.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/shell_quote.h"

#include <string.h>

enum { TITLE_IDS = 12 };

/* Converts one stream into a task. */
struct joiner {
    const struct streams *s;
    const struct stream *stream;
    const struct streams_texts *texts;
    struct arena *a;
    struct problems *ps;
    const bool *is_limited; /* per stream: limit it to the paths that its agents own */
    struct node *task;
};

static const struct plan_batch *get_batch_at(const struct joiner *j, size_t i)
{
    return &j->s->plan->batches.v[j->stream->batches[i]];
}

static void put_prompt(struct joiner *j)
{
    autobuf struct buf out = BUF_INIT;
    streams_prompt(j->s, j->stream, j->texts, &out);
    node_put_string(j->a, j->task, "prompt", out.s);
}

static void put_title(struct joiner *j)
{
    autobuf struct buf out = BUF_INIT;
    buf_addf(&out, "Stream %s: batch%s ", j->stream->id, j->stream->n == 1 ? "" : "es");
    streams_say_ids(j->s, j->stream, TITLE_IDS, &out);
    node_put_string(j->a, j->task, "title", out.s);
}

static void add_once(struct joiner *j, struct map *seen, struct node *list, const char *text)
{
    if (!map_put(seen, text, strlen(text), list))
        node_add_string(j->a, list, text);
}

static void put_owns(struct joiner *j)
{
    automap struct map seen = {0};
    struct node *list = node_new_list(j->a);
    if (!j->is_limited[j->stream - j->s->list])
        return;
    for (size_t i = 0; i < j->stream->n; i++) {
        batch_each_task (t, j->s->plan, j->stream->batches[i]) {
            for (size_t k = 0; k < t->owns.n; k++)
                add_once(j, &seen, list, t->owns.v[k].text);
        }
    }
    if (list->n)
        node_put_value(j->a, j->task, "owns", list);
}

/* A session may change any path if one of its agents owns nothing. If it shares a path with another
 * session, that one may change any path, too: if it owned the path, the first could not change it.
 */
static bool *find_limited(const struct streams *s, struct arena *a)
{
    bool *is_limited = arena_array(a, s->n + 1, sizeof(*is_limited));
    for (size_t i = 0; i < s->n; i++)
        is_limited[i] = true;
    for (uint32_t b = 0; b < s->batches; b++) {
        bool *limit = &is_limited[s->stream_of[b]];
        batch_each_task (t, s->plan, b)
            *limit = *limit && (t->owns.n || t->read_only);
    }
    for (bool has_changed = s->cuts > 0; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < s->ties.n; i++) {
            const struct tie *tie = &s->ties.v[i];
            uint32_t x = s->stream_of[tie->early], y = s->stream_of[tie->late];
            if (tie->kind == TIE_OWNS && is_limited[x] != is_limited[y]) {
                is_limited[x] = is_limited[y] = false;
                has_changed = true;
            }
        }
    }
    return is_limited;
}

static bool forbids_path(const struct task *t, const char *text)
{
    for (size_t i = 0; i < t->forbids.n; i++) {
        if (strcmp(t->forbids.v[i].text, text) == 0)
            return true;
    }
    return false;
}

/* Forbids the paths that every agent of the stream forbids; the prompt of each agent names its
 * others. */
static void put_forbids(struct joiner *j)
{
    const struct task *first = &j->s->plan->tasks[get_batch_at(j, 0)->first];
    struct node *list = node_new_list(j->a);
    for (size_t k = 0; k < first->forbids.n; k++) {
        bool all = true;
        for (size_t i = 0; all && i < j->stream->n; i++) {
            batch_each_task (t, j->s->plan, j->stream->batches[i])
                all = all && forbids_path(t, first->forbids.v[k].text);
        }
        if (all)
            node_add_string(j->a, list, first->forbids.v[k].text);
    }
    if (list->n)
        node_put_value(j->a, j->task, "forbids", list);
}

struct sums {
    bool all_read_only, all_timed, all_idle, all_usd, all_tokens;
    int64_t estimate, timeout, idle, tokens, order;
    double usd;
    enum permissions permissions;
};

static void add_task(struct sums *u, const struct task *t)
{
    u->all_read_only = u->all_read_only && t->read_only;
    u->all_timed = u->all_timed && t->timeout > 0;
    u->all_idle = u->all_idle && t->idle_timeout > 0;
    u->all_usd = u->all_usd && t->budget.usd >= 0;
    u->all_tokens = u->all_tokens && t->budget.tokens >= 0;
    u->timeout += t->timeout > 0 ? t->timeout : 0;
    u->idle = t->idle_timeout > u->idle ? t->idle_timeout : u->idle;
    u->usd += t->budget.usd >= 0 ? t->budget.usd : 0;
    if (t->budget.tokens > 0)
        u->tokens =
            u->tokens > INT64_MAX - t->budget.tokens ? INT64_MAX : u->tokens + t->budget.tokens;
    u->permissions = t->permissions > u->permissions ? t->permissions : u->permissions;
    if (t->order != INT64_MIN && (u->order == INT64_MIN || t->order < u->order))
        u->order = t->order;
}

/* Limits the duration to the maximum in a plan. */
static void put_duration(struct joiner *j, const char *key, int64_t ms)
{
    const int64_t most = (int64_t)30 * 24 * 60 * 60 * 1000;
    long long limited = ms < most ? ms : most;
    node_put_string(j->a, j->task, key, arena_printf(j->a, "%lldms", limited));
}

static void put_sums(struct joiner *j)
{
    static const char *const permissions[] = {NULL, "read", "edit", "full"};
    struct sums u = {.all_read_only = true,
                     .all_timed = true,
                     .all_idle = true,
                     .all_usd = true,
                     .all_tokens = true,
                     .order = INT64_MIN};
    for (size_t i = 0; i < j->stream->n; i++) {
        batch_each_task (t, j->s->plan, j->stream->batches[i])
            add_task(&u, t);
    }
    if (u.all_read_only)
        node_put_bool(j->a, j->task, "read_only", true);
    node_put_string(j->a, j->task, "permissions", permissions[u.permissions]);
    if (u.order != INT64_MIN)
        node_put_int(j->a, j->task, "order", u.order);
    if (j->s->estimated)
        put_duration(j, "estimate", j->stream->weight);
    if (u.all_timed)
        put_duration(j, "timeout", u.timeout);
    if (u.all_idle)
        put_duration(j, "idle_timeout", u.idle);
    struct node *budget = node_new_map(j->a);
    if (u.all_usd)
        node_put_real(j->a, budget, "usd", u.usd);
    if (u.all_tokens)
        node_put_int(j->a, budget, "tokens", u.tokens);
    if (budget->n)
        node_put_value(j->a, j->task, "budget", budget);
}

static void add_command(struct buf *out, const struct plan_command *cmd)
{
    if (cmd->shell)
        buf_addstr(out, cmd->shell);
    for (size_t i = 0; i < cmd->argv.n; i++)
        shell_quote(out, i ? "" : "exec", cmd->argv.v[i], NULL);
}

/* Runs each command once, in a subshell, so that an `exit` in one does not skip the rest. */
static void put_verify(struct joiner *j)
{
    automap struct map seen = {0};
    autobuf struct buf out = BUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < j->stream->n; i++) {
        batch_each_task (t, j->s->plan, j->stream->batches[i]) {
            autobuf struct buf one = BUF_INIT;
            add_command(&one, &t->verify);
            const char *key = arena_str(j->a, one.s);
            if (one.len && !map_put(&seen, key, one.len, j))
                buf_addf(&out, "%s(\n%s\n)", n++ ? " && " : "", key);
        }
    }
    node_put_string(j->a, j->task, "verify", n ? out.s : NULL);
}

/* The keys of a task bound the depth of the recursion. */
static bool is_same(const struct node *a, const struct node *b)
{
    if (!a || !b || a->kind != b->kind)
        return a == b;
    if (a->kind < NODE_LIST)
        return a->kind == NODE_STRING ? a->len == b->len && memcmp(a->text, b->text, a->len) == 0
               : a->kind == NODE_BOOL ? a->truth == b->truth
                                      : a->integer == b->integer;
    const struct node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next) {
        if ((a->kind == NODE_MAP && strcmp(x->key, y->key) != 0) || !is_same(x, y))
            return false;
    }
    return !x && !y;
}

/* Keys that the functions above handle. All agents must agree on every other key. */
static bool is_handled(const char *key)
{
    static const char *const keys[] = {
        "id",       "title",   "prompt",       "prompt_file", "agent",  "depends_on",
        "owns",     "forbids", "read_only",    "hand_on",     "order",  "branch",
        "estimate", "timeout", "idle_timeout", "budget",      "verify", "permissions",
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

static struct node *encode_task(struct joiner *j, const struct task *t)
{
    struct node *node = plan_encode_task(j->s->plan, t, j->a);
    plan_reveal(t, node); /* two secrets may differ */
    return node;
}

/* Adds an error for each key of `one` that `other` lacks or sets differently; reports each key
 * once. */
static void report_differences(struct joiner *j, const struct node *one, const struct node *other,
                               const struct task *t, struct map *reported)
{
    node_each (member, one) {
        if (is_handled(member->key) || is_same(member, node_get(other, member->key)) ||
            map_put(reported, member->key, member->key_len, j))
            continue;
        problem_error(j->ps, RULE_COMBINATION, t->node,
                      "stream %s is one session, and its agents differ in '%s'", j->stream->id,
                      member->key);
        problem_hint(j->ps, "--by-batch runs every agent by itself");
    }
}

static void put_common(struct joiner *j)
{
    const struct task *lead = &j->s->plan->tasks[get_batch_at(j, 0)->first];
    struct node *first = encode_task(j, lead);
    automap struct map reported = {0};
    for (size_t i = 0; i < j->stream->n; i++) {
        batch_each_task (t, j->s->plan, j->stream->batches[i]) {
            const struct node *other = t == lead ? first : encode_task(j, t);
            report_differences(j, first, other, t, &reported);
            report_differences(j, other, first, t, &reported);
        }
    }
    for (struct node *member = first->first, *next; member; member = next) {
        next = member->next;
        if (is_handled(member->key))
            continue;
        node_unlink(first, member);
        node_put_value(j->a, j->task, member->key, member);
    }
}

static struct node *get_stream_task(struct joiner *j)
{
    j->task = node_new_map(j->a);
    node_put_string(j->a, j->task, "id", j->stream->id);
    put_title(j);
    put_prompt(j);
    put_owns(j);
    put_forbids(j);
    put_sums(j);
    put_verify(j);
    put_common(j);
    return j->task;
}

/* The claims of streams may overlap after a forced split: the user asked for it. */
static void allow_overlap(struct node *root, struct arena *a)
{
    struct node *overlap = node_get(root, "overlap");
    if (overlap)
        node_unlink(root, overlap);
    node_put_string(a, root, "overlap", "allow");
}

struct node *streams_plan(const struct streams *s, const struct streams_texts *texts,
                          struct arena *a, struct problems *ps)
{
    size_t errors = ps->errors;
    struct node *root = plan_encode(s->plan, a);
    node_unlink(root, node_get(root, "tasks"));
    struct node *tasks = node_put_list(a, root, "tasks");
    const bool *is_limited = find_limited(s, a);
    if (s->cuts)
        allow_overlap(root, a);
    for (size_t i = 0; i < s->n; i++) {
        struct joiner j = {.s = s,
                           .stream = &s->list[i],
                           .texts = texts,
                           .a = a,
                           .ps = ps,
                           .is_limited = is_limited};
        node_append(tasks, get_stream_task(&j));
    }
    return ps->errors > errors ? NULL : root;
}
