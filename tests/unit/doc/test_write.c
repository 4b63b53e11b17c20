/* doc_write() against doc_parse(): every written document reads back as the same tree. */
#include "base/mem.h"
#include "doc/doc.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {
    [DOC_YAML] = "x.yaml", [DOC_TOML] = "x.toml", [DOC_JSON] = "x.json"};

static const enum doc_syntax all[] = {DOC_YAML, DOC_TOML, DOC_JSON};

static bool same_scalar(const struct node *a, const struct node *b)
{
    if (a->kind == NODE_BOOL)
        return a->truth == b->truth;
    if (a->kind == NODE_INT)
        return a->integer == b->integer;
    if (a->kind == NODE_REAL)
        return (isnan(a->real) && isnan(b->real)) ||
               (a->real == b->real && signbit(a->real) == signbit(b->real));
    return a->kind == NODE_NULL || (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

static bool same_key(const struct node *a, const struct node *b)
{
    return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

static const struct node *member(const struct node *map, const struct node *like)
{
    node_each (m, map) {
        if (same_key(m, like))
            return m;
    }
    return NULL;
}

/* TOML cannot hold every order of keys; the other two keep it. */
static bool same_tree(const struct node *a, const struct node *b, bool ordered)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind < NODE_LIST)
        return same_scalar(a, b);
    if (a->n != b->n)
        return false;
    const struct node *other = b->first;
    node_each (child, a) {
        const struct node *twin = a->kind == NODE_MAP && !ordered ? member(b, child) : other;
        if (!twin || (a->kind == NODE_MAP && !same_key(child, twin)) ||
            !same_tree(child, twin, ordered))
            return false;
        other = other->next;
    }
    return true;
}

static void assert_round_trip(const struct node *root, enum doc_syntax syntax)
{
    autobuf struct buf text = BUF_INIT, again = BUF_INIT;
    autoproblems struct problems ps;
    problems_init(&ps, names[syntax]);
    struct doc doc = {0};
    assert_int_equal(doc_write(&text, root, syntax, &ps), 0);
    if (doc_parse(&doc, names[syntax], text.s, text.len, NULL, &ps) < 0)
        fail_msg("%s:%u:%u: %s\n%s", names[syntax], ps.list.v[0].pos.line, ps.list.v[0].pos.col,
                 ps.list.v[0].message, text.s);
    if (!same_tree(root, doc.root, syntax != DOC_TOML))
        fail_msg("another tree from %s:\n%s", names[syntax], text.s);
    assert_int_equal(doc_write(&again, root, syntax, &ps), 0);
    assert_string_equal(text.s, again.s);
    doc_done(&doc);
}

static const char *const nasty[] = {
    "",
    " ",
    "  ",
    "a",
    "yes",
    "No",
    "on",
    "off",
    "y",
    "N",
    "null",
    "Null",
    "~",
    "true",
    "FALSE",
    "1",
    "-1",
    "+1",
    "0x1f",
    "0o7",
    "017",
    "0b1",
    "1_000",
    "1:30",
    "1.5",
    ".5",
    "1.",
    "1e3",
    ".inf",
    "-.Inf",
    ".NaN",
    "nan",
    "inf",
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    "12:30:00",
    "=",
    "<<",
    "- a",
    "-",
    "--",
    "---",
    "--- a",
    "...",
    "? a",
    "?",
    ": a",
    ":",
    "a:",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "#a",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "|2",
    "%a",
    "@a",
    "`a`",
    "'a'",
    "\"a\"",
    "'",
    "\"",
    "it's",
    "[a]",
    "{a: b}",
    "a, b",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\\",
    "\\n",
    "a\\",
    " a",
    "a ",
    "\ta",
    "a\t",
    "a\tb",
    "\n",
    "\n\n",
    "a\n",
    "a\n\n",
    "a\n\n\n",
    "\na",
    "\n a",
    " \na",
    "a\n ",
    "a\n \n",
    "a\n  b\n",
    "  a\nb\n",
    "\ta\nb",
    "a\nb",
    "a\n\nb",
    "a \nb",
    "a\n#b\n",
    "a\n- b\n",
    "a\n---\nb\n",
    "---\na\n",
    "a: b\nc: d\n",
    "a\r\nb\r\n",
    "a\rb",
    "\r",
    "a\r\n",
    "a\x01",
    "\x1b[31m",
    "\x7f",
    "\xc2\x80",
    "a\xc2\x85"
    "b",
    "a\n\xc2\x85\n",
    "\xe2\x80\xa8",
    "a\xe2\x80\xa9",
    "\xef\xbb\xbf",
    "\xef\xbb\xbf"
    "a\nb\n",
    "\xef\xbf\xbe",
    "\xef\xbf\xbf",
    "\xc2\xa0",
    "é",
    "日本\n語\n",
    "😀",
    "\"\"\"",
    "a\n\"\"\"\n",
    "a\n\"\"",
    "a\n\"",
    "'''\n'''",
    "\"\"\"\"\"\n\"",
    "a\nb\\",
    "\\\n",
    "a\n\\ \n",
    "\t\n",
    "a\n\t\n",
    "a\n\tb\n",
    " ",
    "\n ",
    "<<: *a",
    "30m",
    "services/auth/**",
    "npm test && make",
    "3d",
    "1.2.3",
    "key = value",
    "a\n\n\n\nb\n\n",
};

static void put(struct arena *a, struct node *map, const char *key, struct node *value)
{
    node_put(a, map, key, strlen(key), (struct pos){0}, value);
}

static struct node *text(struct arena *a, const char *s)
{
    return node_string(a, s, strlen(s), (struct pos){0});
}

static struct node *container(struct arena *a, enum node_kind kind)
{
    return node_new(a, kind, (struct pos){0});
}

/* Every text as a value, in a list, in a list of maps, as a key, and with another value behind it.
 */
static void test_nasty_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nasty); i++) {
        struct arena a = {0};
        struct node *root = container(&a, NODE_MAP), *list = container(&a, NODE_LIST);
        struct node *maps = container(&a, NODE_LIST), *map = container(&a, NODE_MAP);
        put(&a, root, "value", text(&a, nasty[i]));
        put(&a, root, "list", list);
        node_append(list, text(&a, nasty[i]));
        node_append(list, text(&a, "z"));
        put(&a, root, "maps", maps);
        node_append(maps, map);
        put(&a, map, nasty[i], text(&a, nasty[i]));
        put(&a, map, "z behind", text(&a, nasty[i]));
        for (size_t k = 0; k < 3; k++)
            assert_round_trip(root, all[k]);
        assert_round_trip(text(&a, nasty[i]), DOC_YAML);
        assert_round_trip(text(&a, nasty[i]), DOC_JSON);
        arena_done(&a);
    }
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t below(uint64_t *seed, size_t n)
{
    return (size_t)(random_next(seed) % n);
}

static void random_text(struct buf *out, uint64_t *seed, bool nul)
{
    for (size_t n = below(seed, 4); n; n--)
        buf_addstr(out, nasty[below(seed, ARRAY_LEN(nasty))]);
    if (nul && below(seed, 40) == 0)
        buf_add(out, "\0", 1);
}

static double random_real(uint64_t *seed, enum doc_syntax syntax)
{
    static const double some[] = {0.0,  -0.0,   1.0,     -2.5,    0.1,      1e21, 1e-7,
                                  1e16, 5e-324, 1.7e308, 1e22,    123456.0, NAN,  INFINITY,
                                  3.0,  1e100,  -1e15,   1.0 / 3, -INFINITY};
    double real = some[below(seed, ARRAY_LEN(some))];
    if (isfinite(real) && below(seed, 2))
        real *= (double)(below(seed, 1000) + 1) / 7;
    return isfinite(real) || syntax != DOC_JSON ? real : 0.5;
}

static struct node *random_scalar(struct arena *a, uint64_t *seed, enum doc_syntax syntax)
{
    static const char *const times[] = {"1979-05-27", "07:32:00.5", "1979-05-27T07:32:00",
                                        "1979-05-27T07:32:00.123456Z", "1979-05-27T00:32:00-07:00"};
    autobuf struct buf s = BUF_INIT;
    random_text(&s, seed, true);
    struct node *n = node_string(a, s.s, s.len, (struct pos){0});
    switch (below(seed, 10)) {
    case 0:
        n->kind = syntax == DOC_TOML ? NODE_STRING : NODE_NULL;
        break;
    case 1:
        n->kind = NODE_BOOL;
        n->truth = below(seed, 2);
        break;
    case 2:
        n->kind = NODE_INT;
        n->integer = (int64_t)random_next(seed) >> below(seed, 64);
        break;
    case 3:
        n->kind = NODE_REAL;
        n->real = random_real(seed, syntax);
        break;
    case 4:
        if (syntax == DOC_TOML) {
            n = text(a, times[below(seed, 5)]);
            n->kind = NODE_TIME;
        }
        break;
    default:
        break;
    }
    return n;
}

static struct node *random_tree(struct arena *a, uint64_t *seed, enum doc_syntax syntax, int depth);

static void fill(struct arena *a, struct node *parent, uint64_t *seed, enum doc_syntax syntax,
                 int depth)
{
    for (size_t i = below(seed, 6); i; i--) {
        struct node *child = random_tree(a, seed, syntax, depth - 1);
        if (parent->kind == NODE_LIST) {
            node_append(parent, child);
            continue;
        }
        autobuf struct buf key = BUF_INIT;
        random_text(&key, seed, syntax != DOC_JSON);
        if (below(seed, 50) == 0)
            buf_addrep(&key, 'k', 2000);
        struct node like = {.key = key.s, .key_len = key.len};
        while (member(parent, &like)) {
            buf_addf(&key, "%zu", i);
            like = (struct node){.key = key.s, .key_len = key.len};
        }
        node_put(a, parent, key.s, key.len, (struct pos){0}, child);
    }
}

static struct node *random_tree(struct arena *a, uint64_t *seed, enum doc_syntax syntax, int depth)
{
    size_t dice = below(seed, 10);
    if (depth == 0 || dice < 5)
        return random_scalar(a, seed, syntax);
    struct node *n = container(a, dice < 7 ? NODE_LIST : NODE_MAP);
    fill(a, n, seed, syntax, depth);
    return n;
}

static void test_random_trees(void **state)
{
    (void)state;
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < 6000; i++) {
        struct arena a = {0};
        enum doc_syntax syntax = all[i % 3];
        struct node *root = container(&a, NODE_MAP);
        fill(&a, root, &seed, syntax, 5);
        assert_round_trip(root, syntax);
        arena_done(&a);
    }
}

static void assert_written(const char *yaml, enum doc_syntax syntax, const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    autoproblems struct problems ps;
    problems_init(&ps, "x");
    struct doc doc;
    assert_int_equal(doc_parse(&doc, "x.yaml", yaml, strlen(yaml), NULL, &ps), 0);
    assert_int_equal(doc_write(&out, doc.root, syntax, &ps), 0);
    assert_string_equal(out.s, expected);
    doc_done(&doc);
}

static const char plan[] = "name: x\n"
                           "limits: {workers: 4}\n"
                           "overlap: refuse\n"
                           "big: {a: {b: 1}}\n"
                           "tasks:\n"
                           "- id: a\n"
                           "  prompt: |\n"
                           "    Say \"hi\".\n"
                           "    Go.\n"
                           "  owns: [src/**, 'yes']\n"
                           "- id: b\n"
                           "  env: {K: 1.0}\n"
                           "none: []\n"
                           "mixed: [1, {a: b}]\n";

static void test_yaml_form(void **state)
{
    (void)state;
    assert_written(plan, DOC_YAML,
                   "name: x\n"
                   "limits:\n"
                   "  workers: 4\n"
                   "overlap: refuse\n"
                   "big:\n"
                   "  a:\n"
                   "    b: 1\n"
                   "tasks:\n"
                   "  - id: a\n"
                   "    prompt: |\n"
                   "      Say \"hi\".\n"
                   "      Go.\n"
                   "    owns:\n"
                   "      - src/**\n"
                   "      - \"yes\"\n"
                   "  - id: b\n"
                   "    env:\n"
                   "      K: 1.0\n"
                   "none: []\n"
                   "mixed:\n"
                   "  - 1\n"
                   "  - a: b\n");
}

/* Our reader accepts a long key before a colon and line ends of YAML 1.1; others do not. */
static void test_yaml_for_others(void **state)
{
    (void)state;
    struct arena a = {0};
    struct node *root = container(&a, NODE_MAP);
    autobuf struct buf key = BUF_INIT, out = BUF_INIT, expected = BUF_INIT;
    autoproblems struct problems ps;
    problems_init(&ps, "x");
    buf_addrep(&key, 'k', 1100);
    put(&a, root, key.s, text(&a, "v"));
    put(&a, root, "lines", text(&a, "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\r\x7f"));
    buf_addf(&expected, "? \"%s\"\n: v\nlines: \"\\u0085\\u2028\\u2029\\uFEFF\\r\\u007F\"\n",
             key.s);
    assert_int_equal(doc_write(&out, root, DOC_YAML, &ps), 0);
    assert_string_equal(out.s, expected.s);
    arena_done(&a);
}

static void test_toml_form(void **state)
{
    (void)state;
    assert_written(plan, DOC_TOML,
                   "name = \"x\"\n"
                   "limits = { workers = 4 }\n"
                   "overlap = \"refuse\"\n"
                   "none = []\n"
                   "mixed = [1, { a = \"b\" }]\n"
                   "\n[big]\n"
                   "\n[big.a]\n"
                   "b = 1\n"
                   "\n[[tasks]]\n"
                   "id = \"a\"\n"
                   "prompt = \"\"\"\n"
                   "Say \"hi\".\n"
                   "Go.\n"
                   "\"\"\"\n"
                   "owns = [\"src/**\", \"yes\"]\n"
                   "\n[[tasks]]\n"
                   "id = \"b\"\n"
                   "\n[tasks.env]\n"
                   "K = 1.0\n");
}

static void test_json_form(void **state)
{
    (void)state;
    assert_written("a: [1, 2.0, x]\nb: {}\nc: [{d: null}]\n", DOC_JSON,
                   "{\n"
                   "  \"a\": [\n"
                   "    1,\n"
                   "    2.0,\n"
                   "    \"x\"\n"
                   "  ],\n"
                   "  \"b\": {},\n"
                   "  \"c\": [\n"
                   "    {\n"
                   "      \"d\": null\n"
                   "    }\n"
                   "  ]\n"
                   "}\n");
}

static void assert_refused(const struct node *root, enum doc_syntax syntax, const char *path,
                           const char *message)
{
    autobuf struct buf out = BUF_INIT;
    autoproblems struct problems ps;
    problems_init(&ps, "x");
    assert_int_equal(doc_write(&out, root, syntax, &ps), -1);
    assert_int_equal(ps.errors, 1);
    assert_string_equal(ps.list.v[0].path, path);
    assert_string_equal(ps.list.v[0].message, message);
    assert_int_equal(out.len, 0);
}

static void test_refused_values(void **state)
{
    (void)state;
    struct arena a = {0};
    struct node *root = container(&a, NODE_MAP), *value = text(&a, "");
    put(&a, root, "k", value);
    value->kind = NODE_NULL;
    assert_refused(root, DOC_TOML, "k", "TOML has no null");
    value->kind = NODE_TIME;
    assert_refused(root, DOC_YAML, "k", "only TOML has dates and times");
    assert_refused(root, DOC_JSON, "k", "only TOML has dates and times");
    value->kind = NODE_REAL;
    value->real = INFINITY;
    assert_refused(root, DOC_JSON, "k", "JSON has no infinity and no NaN");
    value->kind = NODE_STRING;
    value->text = "\xff";
    value->len = 1;
    assert_refused(root, DOC_YAML, "k", "the text is not valid UTF-8");
    value->len = 0;
    value->key_len = 2; /* with its NUL */
    assert_refused(root, DOC_JSON, "[\"k\\x00\"]", "a JSON key cannot contain a NUL character");
    assert_refused(container(&a, NODE_LIST), DOC_TOML, "", "a TOML document is a mapping");
    arena_done(&a);
}

static void test_refused_depth(void **state)
{
    (void)state;
    struct arena a = {0};
    struct node *root = container(&a, NODE_LIST), *inner = root;
    for (int i = 1; i < DOC_MAX_DEPTH; i++) {
        struct node *child = container(&a, NODE_LIST);
        node_append(inner, child);
        inner = child;
    }
    assert_round_trip(root, DOC_YAML);
    assert_round_trip(root, DOC_JSON);
    node_append(inner, container(&a, NODE_LIST));
    autobuf struct buf out = BUF_INIT;
    autoproblems struct problems ps;
    problems_init(&ps, "x");
    assert_int_equal(doc_write(&out, root, DOC_YAML, &ps), -1);
    assert_string_equal(ps.list.v[0].message, "nested deeper than 64 levels");
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nasty_texts),   cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_yaml_form),     cmocka_unit_test(test_toml_form),
        cmocka_unit_test(test_json_form),     cmocka_unit_test(test_refused_values),
        cmocka_unit_test(test_refused_depth), cmocka_unit_test(test_yaml_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
