#include "project/secrets.h"

#include "agent/agent.h"
#include "base/map.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "plan/words.h"

#include <string.h>

enum { SHORTEST = 4, UNCOMMON = 8 }; /* bytes */

static const char masked[] = "[MASKED]";

static unsigned pair_of(const char *s)
{
    return (unsigned)(unsigned char)s[0] << 8 | (unsigned char)s[1];
}

static void add_secret(struct secrets *secrets, struct map *seen, const char *value)
{
    size_t len = strlen(value);
    if (len < SHORTEST || map_get(seen, value, len))
        return;
    unsigned pair = pair_of(value);
    strv_push(&secrets->values, value);
    (void)map_put(seen, secrets->values.v[secrets->values.n - 1], len, secrets);
    secrets->begins[pair / 64] |= (uint64_t)1 << pair % 64;
    secrets->longest = len > secrets->longest ? len : secrets->longest;
}

/* Writes a character beyond ASCII as a JSON escape, as many JSON writers do. */
static void add_escape(struct buf *out, uint32_t c)
{
    if (c < 0x10000) {
        buf_addf(out, "\\u%04x", c);
        return;
    }
    c -= 0x10000;
    buf_addf(out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

static void add_ascii(struct buf *out, const char *s)
{
    for (const unsigned char *c = (const unsigned char *)s; *c;) {
        int more = *c < 0x80 ? 0 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : 3;
        uint32_t code = more ? *c & (0x3fU >> more) : *c;
        if (!more)
            buf_addch(out, (char)*c);
        for (int i = 0; i < more; i++)
            code = code << 6 | (c[i + 1] & 0x3fU);
        if (more)
            add_escape(out, code);
        c += more + 1;
    }
}

/* Agents print values in JSON. That changes quotes, backslashes and line ends, and some JSON
 * writers also escape slashes or letters beyond ASCII. */
static void add_json_forms(struct secrets *secrets, struct map *seen, const char *value)
{
    autoarena struct arena a = {0};
    autobuf struct buf json = BUF_INIT, ascii = BUF_INIT, slashes = BUF_INIT;
    if (text_valid(value, strlen(value)) < strlen(value))
        return;
    struct node *list = node_new_list(&a);
    node_add_string(&a, list, value);
    doc_write_line(&json, list);
    buf_cut(&json, json.len - strlen("\"]"));
    add_ascii(&ascii, json.s + strlen("[\""));
    text_escape(&slashes, json.s + strlen("[\""), "/");
    add_secret(secrets, seen, json.s + strlen("[\""));
    add_secret(secrets, seen, ascii.s);
    add_secret(secrets, seen, slashes.s);
}

static void add_trimmed(struct secrets *secrets, struct map *seen, const char *s, size_t len)
{
    static const char blanks[] = " \t\r\n";
    while (len && strchr(blanks, *s)) {
        s++;
        len--;
    }
    while (len && strchr(blanks, s[len - 1]))
        len--;
    autobuf struct buf value = BUF_INIT;
    buf_add(&value, s, len);
    add_secret(secrets, seen, value.s);
    if (value.len >= SHORTEST)
        add_json_forms(secrets, seen, value.s);
}

/* Programs often print only one line of a key that has several lines. */
static void add_value(struct secrets *secrets, struct map *seen, const char *value)
{
    if (!value)
        return;
    add_trimmed(secrets, seen, value, strlen(value));
    for (const char *s = value; strchr(value, '\n') && *s;) {
        size_t len = strcspn(s, "\n");
        if (len >= UNCOMMON)
            add_trimmed(secrets, seen, s, len);
        s += len + (s[len] == '\n');
    }
}

static int compare_lengths(const void *a, const void *b)
{
    const char *sa = *(char *const *)a, *sb = *(char *const *)b;
    size_t la = strlen(sa), lb = strlen(sb);
    return la != lb ? (la < lb ? 1 : -1) : strcmp(sa, sb);
}

/* Variables of forges and clouds. Engines define their own. */
static const char *const known[] = {
    "ANTHROPIC_API_KEY_HELPER",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITLAB_TOKEN",
    "GITEA_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    NULL,
};

static void add_names(struct map *names, const char *const *list)
{
    for (; list && *list; list++)
        (void)map_put(names, *list, strlen(*list), names);
}

static void add_known_value(struct secrets *secrets, struct map *seen, const char *value)
{
    if (value && strlen(value) >= UNCOMMON)
        add_value(secrets, seen, value);
}

static void add_own_values(struct secrets *secrets, struct map *seen, const char *const *list)
{
    for (; list && *list; list++)
        add_known_value(secrets, seen, getenv(*list));
}

static void add_task(struct secrets *secrets, struct map *seen, const struct map *names,
                     const struct env_vars *env)
{
    for (size_t i = 0; i < env->n; i++) {
        const struct env_var *v = &env->v[i];
        const char *value = v->from ? getenv(v->from) : v->value;
        if (v->secret)
            add_value(secrets, seen, value);
        else if (map_get(names, v->name, strlen(v->name)))
            add_known_value(secrets, seen, value);
    }
}

void secrets_collect(struct secrets *secrets, const struct plan *plan)
{
    automap struct map seen = {0}, names = {0};
    add_names(&names, known);
    add_own_values(secrets, &seen, known);
    for (int e = 1; engine_words[e]; e++) {
        add_names(&names, agent_keys((enum agent_engine)e));
        add_own_values(secrets, &seen, agent_keys((enum agent_engine)e));
    }
    for (size_t t = 0; t < plan->task_count; t++)
        add_task(secrets, &seen, &names, &plan->tasks[t].env);
    if (secrets->values.n)
        qsort(secrets->values.v, secrets->values.n, sizeof(char *), compare_lengths);
}

void secrets_done(struct secrets *secrets)
{
    strv_done(&secrets->values);
}

static bool may_begin(const struct secrets *secrets, const char *s)
{
    unsigned pair = pair_of(s);
    return secrets->begins[pair / 64] >> pair % 64 & 1;
}

/* Length of the longest secret with which s begins, or 0. */
static size_t get_secret_length(const struct secrets *secrets, const char *s, size_t len)
{
    if (len < SHORTEST || !may_begin(secrets, s))
        return 0;
    for (size_t i = 0; i < secrets->values.n; i++) {
        size_t n = strlen(secrets->values.v[i]);
        if (n <= len && memcmp(s, secrets->values.v[i], n) == 0)
            return n;
    }
    return 0;
}

/* True if s is the beginning of a secret, but not a whole one. */
static bool is_beginning(const struct secrets *secrets, const char *s, size_t len)
{
    if (len > 1 && !may_begin(secrets, s))
        return false;
    for (size_t i = 0; i < secrets->values.n; i++) {
        const char *value = secrets->values.v[i];
        if (strlen(value) > len && memcmp(s, value, len) == 0)
            return true;
    }
    return false;
}

/* The offset at which the beginning of a secret may start at the end of a text; len if there is
 * none. */
static size_t find_beginning(const struct secrets *secrets, const char *s, size_t len)
{
    size_t at = len > secrets->longest ? len - secrets->longest : 0;
    while (at < len && !is_beginning(secrets, s + at, len - at))
        at++;
    return at;
}

/* The length of the end of a secret with which a text begins. */
static size_t get_ending_len(const struct secrets *secrets, const char *s, size_t len)
{
    size_t most = 0;
    for (size_t i = 0; i < secrets->values.n; i++) {
        const char *value = secrets->values.v[i];
        size_t n = strlen(value);
        for (size_t k = n - 1 < len ? n - 1 : len; k >= SHORTEST && k > most; k--) {
            if (memcmp(s, value + n - k, k) == 0)
                most = k;
        }
    }
    return most;
}

/* Masks secrets that begin before `end`. The first `covered` bytes of the text are masked already.
 * Returns how many bytes after `end` are covered by a mask. */
static size_t mask_text(const struct secrets *secrets, const char *s, size_t len, size_t end,
                        size_t covered, struct buf *out)
{
    size_t plain = covered < end ? covered : end;
    for (size_t at = 0; secrets->values.n && at < end; at++) {
        size_t n = get_secret_length(secrets, s + at, len - at);
        if (!n)
            continue;
        if (at >= covered) {
            buf_add(out, s + plain, at - plain);
            buf_addstr(out, masked);
        }
        covered = at + n > covered ? at + n : covered;
        plain = covered < end ? covered : end;
    }
    buf_add(out, s + plain, end - plain);
    return covered > end ? covered - end : 0;
}

void secrets_mask(const struct secrets *secrets, const char *s, size_t len, struct buf *out)
{
    (void)mask_text(secrets, s, len, len, 0, out);
}

void secrets_mask_cut(const struct secrets *secrets, const char *s, size_t len,
                      struct secrets_cut cut, struct buf *out)
{
    size_t front = cut.front ? get_ending_len(secrets, s, len) : 0;
    size_t end = cut.end ? find_beginning(secrets, s, len) : len;
    if (len - end < SHORTEST)
        end = len;
    if (front)
        buf_addstr(out, masked);
    size_t covered = mask_text(secrets, s, len, end, front, out);
    if (end < len && !covered)
        buf_addstr(out, masked);
}

bool secrets_are_in(const struct secrets *secrets, const char *s, size_t len)
{
    for (size_t at = 0; secrets->values.n && at < len; at++) {
        if (get_secret_length(secrets, s + at, len - at))
            return true;
    }
    return false;
}

bool secrets_are_told_by(const struct secrets *secrets, const char *word)
{
    for (size_t i = 0; i < secrets->values.n; i++) {
        if (strlen(secrets->values.v[i]) >= UNCOMMON && strstr(word, secrets->values.v[i]))
            return true;
    }
    return false;
}

static bool tree_has(const struct secrets *secrets, const struct node *node)
{
    if (node->kind == NODE_STRING)
        return secrets_are_told_by(secrets, node->text);
    if (node->kind < NODE_LIST)
        return false;
    node_each (child, node) {
        if (tree_has(secrets, child))
            return true;
    }
    return false;
}

/* Recursion is safe: the trees of events are flat, and we make them. */
static struct node *mask_node(const struct secrets *secrets, const struct node *node,
                              struct arena *a)
{
    struct node *copy = node_new(a, node->kind, node->pos);
    if (node->kind == NODE_STRING && tree_has(secrets, node)) {
        autobuf struct buf text = BUF_INIT;
        secrets_mask(secrets, node->text, node->len, &text);
        return node_string(a, text.s, text.len, node->pos);
    }
    if (node->kind < NODE_LIST) {
        *copy = *node;
        copy->parent = copy->next = NULL;
        return copy;
    }
    node_each (child, node) {
        struct node *inner = mask_node(secrets, child, a);
        if (node->kind == NODE_MAP)
            node_put(a, copy, child->key, child->key_len, child->key_pos, inner);
        else
            node_append(copy, inner);
    }
    return copy;
}

const struct node *secrets_mask_tree(const struct secrets *secrets, const struct node *root,
                                     struct arena *a)
{
    return root && secrets->values.n && tree_has(secrets, root) ? mask_node(secrets, root, a)
                                                                : root;
}

static void flush_until(struct secrets_stream *stream, size_t end, struct buf *out)
{
    struct buf *rest = &stream->rest;
    stream->covered = mask_text(stream->secrets, rest->s, rest->len, end, stream->covered, out);
    memmove(rest->s, rest->s + end, rest->len - end);
    buf_cut(rest, rest->len - end);
}

void secrets_feed(struct secrets_stream *stream, const char *s, size_t len, struct buf *out)
{
    buf_add(&stream->rest, s, len);
    if (stream->rest.len)
        flush_until(stream, find_beginning(stream->secrets, stream->rest.s, stream->rest.len), out);
}

void secrets_end(struct secrets_stream *stream, struct buf *out)
{
    if (stream->rest.len)
        flush_until(stream, stream->rest.len, out);
    stream->covered = 0;
}

void secrets_stream_done(struct secrets_stream *stream)
{
    buf_done(&stream->rest);
}
