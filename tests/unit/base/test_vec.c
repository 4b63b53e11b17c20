#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
    int a, b;
};

static void test_push(void **state)
{
    (void)state;
    VEC(struct pair) pairs = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&pairs, (struct pair){i, -i});
    assert_int_equal(pairs.n, 1000);
    assert_true(pairs.cap >= pairs.n);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pairs.v[i].a, i);
        assert_int_equal(pairs.v[i].b, -i);
    }
    vec_done(&pairs);
}

static void test_value_is_evaluated_once(void **state)
{
    (void)state;
    VEC(int) v = {0};
    int next = 0;
    for (int i = 0; i < 20; i++)
        vec_push(&v, next++);
    assert_int_equal(next, 20);
    assert_int_equal(v.v[19], 19);
    vec_done(&v);
}

static void test_done(void **state)
{
    (void)state;
    VEC(int) v = {0};
    vec_done(&v);
    vec_push(&v, 1);
    vec_done(&v);
    assert_null(v.v);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.cap, 0);
    vec_push(&v, 2);
    assert_int_equal(v.v[0], 2);
    vec_done(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push),
        cmocka_unit_test(test_value_is_evaluated_once),
        cmocka_unit_test(test_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
