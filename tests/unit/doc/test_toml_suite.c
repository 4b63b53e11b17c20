/*
 * The official TOML test suite (toml-test) from Debian. The reader must reject every invalid file,
 * and every valid file must give the values that the suite lists for it.
 */
#include "base/mem.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "sys/fs/file.h"

#include <fts.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char debian_path[] =
    "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests";

struct totals {
    size_t valid, invalid, newer, failed;
};

/* TOML 1.1 only, and refused as long as the parser reads TOML 1.0. */
static const char *const newer[] = {
    "valid/string/escape-esc.toml", /* the escape \\e */
};

static bool is_newer(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(newer); i++) {
        size_t n = strlen(newer[i]), len = strlen(path);
        if (len > n && strcmp(path + len - n, newer[i]) == 0)
            return true;
    }
    return false;
}

static const char *suite_path(void)
{
    const char *path = getenv("ANABRANCH_TOML_TESTS");
    return path && *path ? path : debian_path;
}

static void complain(struct totals *t, const char *path, const char *why)
{
    print_error("%s: %s\n", path, why);
    t->failed++;
}

/* Cuts the zeros at the end of the seconds' fraction, writes T and Z in capitals, and +00:00 as Z.
 */
static void normal_time(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '.') {
            size_t digits = strspn(s + 1, "0123456789"), n = digits;
            while (n && s[n] == '0')
                n--;
            if (n)
                buf_add(out, s, n + 1);
            s += digits;
        } else if (strcmp(s, "+00:00") == 0 || strcmp(s, "-00:00") == 0) {
            buf_addch(out, 'Z');
            return;
        } else {
            buf_addch(out, *s == 't' || *s == ' ' ? 'T' : *s == 'z' ? 'Z' : *s);
        }
    }
}

static bool same_time(const char *a, const char *b)
{
    autobuf struct buf x = BUF_INIT, y = BUF_INIT;
    normal_time(&x, a);
    normal_time(&y, b);
    return strcmp(x.s, y.s) == 0;
}

static bool same_real(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static bool is_time_type(const char *type)
{
    return strcmp(type, "datetime") == 0 || strcmp(type, "datetime-local") == 0 ||
           strcmp(type, "date-local") == 0 || strcmp(type, "time-local") == 0;
}

/* Has the node the type and value of {"type": ..., "value": ...}? */
static bool same_scalar(const struct node *n, const char *type, json_t *value)
{
    const char *s = json_string_value(value);
    if (strcmp(type, "string") == 0)
        return n->kind == NODE_STRING && n->len == json_string_length(value) &&
               memcmp(n->text, s, n->len) == 0;
    if (strcmp(type, "integer") == 0)
        return n->kind == NODE_INT && n->integer == strtoll(s, NULL, 10);
    if (strcmp(type, "bool") == 0)
        return n->kind == NODE_BOOL && n->truth == (strcmp(s, "true") == 0);
    if (strcmp(type, "float") == 0)
        return n->kind == NODE_REAL && same_real(n->real, strtod(s, NULL));
    return is_time_type(type) && n->kind == NODE_TIME && same_time(n->text, s);
}

static bool same_value(const struct node *n, json_t *expected)
{
    json_t *type = json_object_get(expected, "type"), *value = json_object_get(expected, "value");
    if (json_object_size(expected) == 2 && json_is_string(type) && json_is_string(value))
        return same_scalar(n, json_string_value(type), value);
    if (json_is_array(expected)) {
        if (n->kind != NODE_LIST || n->n != json_array_size(expected))
            return false;
        node_each (item, n) {
            if (!same_value(item, json_array_get(expected, item->index)))
                return false;
        }
        return true;
    }
    if (n->kind != NODE_MAP || n->n != json_object_size(expected))
        return false;
    node_each (member, n) {
        json_t *other = json_object_get(expected, member->key);
        if (!other || !same_value(member, other))
            return false;
    }
    return true;
}

static json_t *load_expected(const char *toml)
{
    char *path = mem_str(toml);
    strcpy(strrchr(path, '.'), ".json");
    json_error_t error;
    json_t *value = json_load_file(path, JSON_ALLOW_NUL, &error);
    free(path);
    return value;
}

static void check_invalid(struct totals *t, const char *path)
{
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, path);
    t->invalid++;
    if (doc_load(&doc, path, NULL, &ps) == 0)
        complain(t, path, "was not refused");
    else if (ps.errors != 1 || !ps.list.v[0].pos.line || !*ps.list.v[0].message)
        complain(t, path, "was refused without saying where and why");
    doc_done(&doc);
}

static void check_valid(struct totals *t, const char *path)
{
    if (is_newer(path)) {
        t->newer++;
        check_invalid(t, path);
        return;
    }
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, path);
    t->valid++;
    json_t *expected = load_expected(path);
    if (!expected)
        complain(t, path, "the expected values cannot be read");
    else if (doc_load(&doc, path, NULL, &ps) < 0)
        complain(t, path, ps.list.v[0].message);
    else if (!same_value(doc.root, expected))
        complain(t, path, "other values than expected");
    if (expected)
        doc_done(&doc);
    json_decref(expected);
}

static void walk(struct totals *t, const char *folder, void (*check)(struct totals *, const char *))
{
    autofree char *root = mem_printf("%s/%s", suite_path(), folder);
    char *roots[] = {root, NULL};
    FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    assert_non_null(fts);
    for (FTSENT *e; (e = fts_read(fts));) {
        const char *dot = strrchr(e->fts_name, '.');
        if (e->fts_info == FTS_F && dot && strcmp(dot, ".toml") == 0)
            check(t, e->fts_path);
    }
    assert_int_equal(fts_close(fts), 0);
}

static void test_suite(void **state)
{
    (void)state;
    struct totals t = {0};
    if (access(suite_path(), R_OK | X_OK) != 0)
        fail_msg("no TOML test suite in '%s': install golang-github-burntsushi-toml-dev, or name "
                 "the folder that holds valid/ and invalid/ in ANABRANCH_TOML_TESTS",
                 suite_path());
    walk(&t, "valid", check_valid);
    walk(&t, "invalid", check_invalid);
    print_message("toml-test: %zu valid, %zu invalid (%zu of them TOML 1.1), %zu failed\n", t.valid,
                  t.invalid, t.newer, t.failed);
    assert_true(t.valid >= 99 && t.invalid >= 200);
    assert_int_equal(t.failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_suite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
