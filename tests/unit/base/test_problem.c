#include "base/node/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct node *member(struct arena *a, struct node *map, const char *key, struct pos pos)
{
    struct node *n = node_new(a, NODE_NULL, pos);
    node_put(a, map, key, strlen(key), (struct pos){pos.line, 1}, n);
    return n;
}

static void test_format(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    char file[] = "p\033.yaml";
    problems_init(&ps, file);
    file[0] = '?';
    struct node *root = node_new(&ps.arena, NODE_MAP, (struct pos){1, 1});
    struct node *id = member(&ps.arena, root, "id", (struct pos){4, 9});
    assert_int_equal(problem_error(&ps, RULE_VALUE, id, "bad '%s'", "a\nb"), -1);
    assert_int_equal(problem_hint(&ps, "use %d\t", 1), -1);
    assert_int_equal(problem_warn(&ps, RULE_UNKNOWN, id, "odd"), -1);
    assert_int_equal(problem_error_key(&ps, RULE_UNKNOWN, id, "key"), -1);
    assert_int_equal(problem_error_at(&ps, RULE_SYNTAX, (struct pos){0}, "broken"), -1);
    assert_int_equal(ps.errors, 3);
    assert_int_equal(ps.warnings, 1);
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; i < ps.list.n; i++)
        problem_format(&ps, &ps.list.v[i], &out);
    assert_string_equal(out.s, "p\\e.yaml:4:9: id: bad 'a\\nb'\n    hint: use 1\\t\n"
                               "p\\e.yaml:4:9: warning: id: odd\n"
                               "p\\e.yaml:4:1: id: key\n"
                               "p\\e.yaml: broken\n");
}

static void test_hint_without_a_problem(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    problems_init(&ps, "p");
    assert_int_equal(problem_hint(&ps, "nothing"), -1);
    problems_sort(&ps);
    assert_int_equal(ps.list.n, 0);
}

static void test_key_of_the_root(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    problems_init(&ps, "p");
    struct node *root = node_new(&ps.arena, NODE_MAP, (struct pos){2, 5});
    (void)problem_error_key(&ps, RULE_REQUIRED, root, "missing");
    assert_int_equal(ps.list.v[0].pos.line, 2);
    assert_int_equal(ps.list.v[0].pos.col, 5);
    assert_string_equal(ps.list.v[0].path, "");
}

static void test_sort(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    problems_init(&ps, "p");
    for (uint32_t i = 0; i < 300; i++)
        (void)problem_error_at(&ps, RULE_SYNTAX, (struct pos){i * 7 % 5, i * 3 % 4}, "%u", i);
    problems_sort(&ps);
    assert_int_equal(ps.list.n, 300);
    for (size_t i = 1; i < ps.list.n; i++) {
        const struct problem *a = &ps.list.v[i - 1], *b = &ps.list.v[i];
        assert_true(a->pos.line <= b->pos.line);
        if (a->pos.line == b->pos.line)
            assert_true(a->pos.col <= b->pos.col);
        if (a->pos.line == b->pos.line && a->pos.col == b->pos.col)
            assert_true(a->seq < b->seq);
    }
}

static void test_rule_names(void **state)
{
    (void)state;
    for (enum rule r = 0; r < RULE_COUNT_; r++) {
        assert_non_null(rule_name(r));
        for (enum rule other = 0; other < r; other++)
            assert_string_not_equal(rule_name(r), rule_name(other));
    }
    assert_string_equal(rule_name(RULE_UNKNOWN), "unknown-key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),          cmocka_unit_test(test_hint_without_a_problem),
        cmocka_unit_test(test_key_of_the_root), cmocka_unit_test(test_sort),
        cmocka_unit_test(test_rule_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
