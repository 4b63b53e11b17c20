#include "plan/decode/keys.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "plan/plan.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Maps words of other tools to ours, for a hint in a plan of unknown origin. */
static const char *translate_word(const char *key)
{
    static const char *const words[][2] = {
        {"writes", "owns"},
        {"owns_files", "owns"},
        {"max_retries", "retry"},
        {"goal", "prompt"},
        {"merge_order", "order"},
        {"subagent_type", "agent"},
        {"plan_id", "name"},
        {"description", "title"},
        {"concurrency_group", "group"},
        {"webhook_url", "webhook"},
        {"concurrency_limits", "limits"},
        {"on_complete", "notify"},
        {"on_failure", "notify"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(key, words[i][0]) == 0)
            return words[i][1];
    }
    return key;
}

static void hint_nearest_key(struct reader *r, const char *key, const struct field *fields)
{
    VEC(const char *) names = {0};
    for (const struct field *f = fields; f->name; f++)
        vec_push(&names, f->name);
    const char *near = text_nearest(translate_word(key), names.v, names.n);
    if (near)
        problem_hint(r->ps, "did you mean '%s'?", near);
    else
        problem_hint(r->ps, "keys of your own begin with 'x-'");
    vec_done(&names);
}

static void report_unknown_key(struct reader *r, const struct node *node,
                               const struct field *fields)
{
    autobuf struct buf key = BUF_INIT;
    text_harmless(&key, node->key, node->key_len);
    if (r->lenient)
        problem_warn_key(r->ps, RULE_UNKNOWN, node, "unknown key '%s' is ignored", key.s);
    else
        problem_error_key(r->ps, RULE_UNKNOWN, node, "unknown key '%s'", key.s);
    hint_nearest_key(r, node->key, fields);
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields->name; fields++) {
        if (fields->name[0] == name[0] && strcmp(fields->name, name) == 0)
            return fields;
    }
    return NULL;
}

/* Rejects a key with a NUL: it would read as the part before the NUL. */
static bool is_usable_key(const struct node *member)
{
    return !member->key || strlen(member->key) == member->key_len;
}

bool read_members(struct reader *r, const struct node *node, const struct field *fields, void *out)
{
    if (!read_expect(r, node, NODE_MAP))
        return false;
    node_each (member, node) {
        const struct field *f = is_usable_key(member) ? find_field(fields, member->name) : NULL;
        if (f && f->read)
            f->read(r, member, f, (char *)out + f->offset);
        else if (!f && strncmp(member->name, "x-", 2) != 0)
            report_unknown_key(r, member, fields);
    }
    return true;
}

static bool is_digits(const struct node *node)
{
    return node->kind == NODE_STRING && node->len && strspn(node->text, "0123456789") == node->len;
}

static void report_kind(struct reader *r, const struct node *node, const char *wanted)
{
    problem_error(r->ps, RULE_TYPE, node, "expected %s, got %s", wanted,
                  node_kind_name(node->kind));
    if (node->kind == NODE_NULL)
        problem_hint(r->ps, "give it a value, or remove the key");
    else if (strcmp(wanted, "a string") == 0 && node->kind < NODE_LIST)
        problem_hint(r->ps, "put it in quotes");
    else if (strcmp(wanted, "a list") == 0 && node->kind == NODE_STRING)
        problem_hint(r->ps, "write it as a list with one entry: [\"%.80s\"]", node->text);
    else if (strcmp(wanted, "an integer") == 0 && is_digits(node))
        problem_hint(r->ps, "write it without quotes");
    else if (strcmp(wanted, "a boolean") == 0)
        problem_hint(r->ps, "write true or false");
}

bool read_expect(struct reader *r, const struct node *node, enum node_kind kind)
{
    if (node->kind == kind)
        return true;
    report_kind(r, node, node_kind_name(kind));
    return false;
}

void read_map(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    read_members(r, node, f->fields, slot);
}

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\r\n")] == '\0';
}

/* Checks that the text is not blank and contains no NUL. */
static bool check_string(struct reader *r, const struct node *node)
{
    if (strlen(node->text) != node->len)
        return problem_error(r->ps, RULE_VALUE, node, "has a NUL character in it"), false;
    if (is_blank(node->text))
        return problem_error(r->ps, RULE_VALUE, node, "is empty"), false;
    return true;
}

void read_string(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    (void)f;
    if (read_expect(r, node, NODE_STRING) && check_string(r, node))
        *(const char **)slot = node->text;
}

const char *read_scalar_text(struct reader *r, const struct node *node)
{
    if (node->kind == NODE_INT)
        return node->text;
    if (!read_expect(r, node, NODE_STRING) || !check_string(r, node))
        return NULL;
    return node->text;
}

int read_old_boolean(const struct node *node)
{
    static const char *const words[] = {"no", "off", "n", "yes", "on", "y"};
    if (node->kind != NODE_STRING || !node->plain)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(words[i], node->text) == 0)
            return i >= 3;
    }
    return -1;
}

void read_bool(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    (void)f;
    int old = read_old_boolean(node);
    if (old >= 0)
        *(bool *)slot = old;
    else if (read_expect(r, node, NODE_BOOL))
        *(bool *)slot = node->truth;
}

static bool check_range(struct reader *r, const struct node *node, const struct field *f, int64_t n)
{
    if (n >= f->min && n <= f->max)
        return true;
    if (f->max == INT64_MAX)
        return problem_error(r->ps, RULE_VALUE, node, "%lld is less than %lld", (long long)n,
                             (long long)f->min),
               false;
    problem_error(r->ps, RULE_VALUE, node, "%lld is out of range: from %lld to %lld", (long long)n,
                  (long long)f->min, (long long)f->max);
    return false;
}

void read_int(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    if (read_expect(r, node, NODE_INT) && check_range(r, node, f, node->integer))
        *(int64_t *)slot = node->integer;
}

void read_count(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    if (node->kind != NODE_STRING) {
        read_int(r, node, f, slot);
        return;
    }
    int64_t n = text_parse_count(node->text, node->len);
    if (n < 0) {
        problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a count", node->text);
        problem_hint(r->ps, "write a number, or one with k, M or G: 40M");
    } else if (check_range(r, node, f, n)) {
        *(int64_t *)slot = n;
    }
}

void read_usd(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    (void)f;
    double usd;
    if (node->kind == NODE_INT) {
        usd = (double)node->integer;
    } else if (node->kind == NODE_REAL) {
        usd = node->real;
    } else {
        report_kind(r, node, "a number");
        return;
    }
    if (usd >= 0 && usd <= 1e9)
        *(double *)slot = usd;
    else
        problem_error(r->ps, RULE_VALUE, node, "'%s' is not an amount of money", node->text);
}

static const char duration_hint[] = "write seconds, or a number with a unit: 90s, 15m, 2h";

void read_duration(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    int64_t ms;
    if (node->kind == NODE_INT) {
        if (__builtin_mul_overflow(node->integer, 1000, &ms))
            ms = -1;
    } else if (node->kind == NODE_STRING) {
        ms = text_parse_duration(node->text, node->len);
    } else {
        report_kind(r, node, "a duration");
        problem_hint(r->ps, duration_hint);
        return;
    }
    if (ms < 0) {
        problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a duration", node->text);
        problem_hint(r->ps, duration_hint);
    } else if (ms < f->min || ms > f->max) {
        autobuf struct buf lo = BUF_INIT, hi = BUF_INIT;
        text_format_duration(&lo, f->min);
        text_format_duration(&hi, f->max);
        problem_error(r->ps, RULE_VALUE, node, "'%s' is out of range: from %s to %s", node->text,
                      lo.s, hi.s);
    } else {
        *(int64_t *)slot = ms;
    }
}

static void hint_words(struct reader *r, const char *given, const char *const *words)
{
    autobuf struct buf all = BUF_INIT;
    size_t n = 0;
    for (; words[n]; n++) {
        if (*words[n])
            buf_addf(&all, "%s%s", all.len ? ", " : "", words[n]);
    }
    const char *near = text_nearest(given, words, n);
    if (near && *near)
        problem_hint(r->ps, "did you mean '%s'? It is one of: %s", near, all.s);
    else
        problem_hint(r->ps, "it is one of: %s", all.s);
}

void read_word(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    if (!read_expect(r, node, NODE_STRING)) {
        hint_words(r, "", f->words);
        return;
    }
    for (int i = 0; f->words[i]; i++) {
        if (node->len && node->len == strlen(f->words[i]) && !strcmp(f->words[i], node->text)) {
            *(int *)slot = i;
            return;
        }
    }
    problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a value for '%s'", node->text, f->name);
    hint_words(r, node->text, f->words);
}

void read_strings(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    if (!read_expect(r, node, NODE_LIST))
        return;
    struct strings out = {.v = arena_array(r->a, node->n + 1, sizeof(*out.v))};
    node_each (item, node) {
        const char *s = NULL;
        read_string(r, item, f, &s);
        if (s)
            out.v[out.n++] = s;
    }
    *(struct strings *)slot = out;
}

void read_command(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    struct plan_command cmd = {0};
    if (node->kind == NODE_STRING) {
        read_string(r, node, f, &cmd.shell);
    } else if (node->kind != NODE_LIST) {
        report_kind(r, node, "a shell line or a list of words");
        return;
    } else if (node->n == 0) {
        problem_error(r->ps, RULE_VALUE, node, "is empty: a command needs at least its program");
        return;
    } else {
        read_strings(r, node, f, &cmd.argv);
    }
    *(struct plan_command *)slot = cmd;
}

struct verification {
    struct plan_command command;
    bool clean;
};

static const struct field verification_fields[] = {
    {"command", read_command, offsetof(struct verification, command)},
    {"clean", read_bool, offsetof(struct verification, clean)},
    {0},
};

void read_verification(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    struct verification v = {0};
    if (node->kind != NODE_MAP) {
        read_command(r, node, f, slot);
        return;
    }
    if (!read_members(r, node, verification_fields, &v))
        return;
    if (!node_get(node, "command"))
        problem_error(r->ps, RULE_REQUIRED, node, "needs a 'command'");
    v.command.clean = v.clean;
    *(struct plan_command *)slot = v.command;
}

/* git rejects names with a component that ends in ".lock", which would collide with its lock
 * files. */
static bool has_lock_component(const char *s)
{
    while ((s = strstr(s, ".lock"))) {
        s += strlen(".lock");
        if (*s == '/' || *s == '\0')
            return true;
    }
    return false;
}

/* Stricter than git's rules for ref names: accepts only what needs no quoting anywhere. */
static bool is_branch_part(const char *s)
{
    char before = '/';
    for (; *s; before = *s++) {
        bool separator = *s == '/' || *s == '.';
        if (!separator && !isalnum((unsigned char)*s) && *s != '_' && *s != '-')
            return false;
        if ((separator || *s == '-') && before == '/')
            return false;
        if (separator && (before == '.' || s[1] == '\0'))
            return false;
    }
    return before != '/';
}

void read_branch_part(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    const char *s = NULL;
    read_string(r, node, f, &s);
    if (!s)
        return;
    if (strlen(s) <= 200 && is_branch_part(s) && !has_lock_component(s)) {
        *(const char **)slot = s;
        return;
    }
    problem_error(r->ps, RULE_VALUE, node, "'%.80s' cannot be part of a branch name", s);
    problem_hint(r->ps, "use letters, digits, '-', '_', with single '/' and '.' between them");
}

/* The rules of git-check-ref-format(1): an existing branch may have any name that git accepts. */
static bool is_branch(const char *s)
{
    size_t len = strlen(s);
    if (*s == '-' || *s == '/' || s[len - 1] == '/' || s[len - 1] == '.' || strcmp(s, "@") == 0)
        return false;
    if (strstr(s, "..") || strstr(s, "//") || strstr(s, "@{") || strstr(s, "/.") || *s == '.')
        return false;
    for (const char *c = s; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("~^:?*[\\", *c))
            return false;
    }
    return !has_lock_component(s);
}

void read_branch(struct reader *r, const struct node *node, const struct field *f, void *slot)
{
    const char *s = NULL;
    read_string(r, node, f, &s);
    if (s && is_branch(s))
        *(const char **)slot = s;
    else if (s)
        problem_error(r->ps, RULE_VALUE, node, "'%.80s' is not a branch name that git accepts", s);
}
