#include "base/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_always_terminated(void **state)
{
    (void)state;
    autostrv struct strv sv = {0};
    assert_null(sv.v);
    for (size_t i = 0; i < 100; i++) {
        strv_pushf(&sv, "%zu", i);
        assert_int_equal(sv.n, i + 1);
        assert_null(sv.v[sv.n]);
    }
    assert_string_equal(sv.v[0], "0");
    assert_string_equal(sv.v[99], "99");
}

static void test_copies(void **state)
{
    (void)state;
    autostrv struct strv sv = {0};
    char word[] = "word";
    strv_push(&sv, word);
    word[0] = '?';
    assert_string_equal(sv.v[0], "word");
}

static void test_pushl(void **state)
{
    (void)state;
    autostrv struct strv sv = {0};
    strv_pushl(&sv, NULL);
    assert_int_equal(sv.n, 0);
    strv_pushl(&sv, "git", "", "status", NULL);
    assert_int_equal(sv.n, 3);
    assert_string_equal(sv.v[1], "");
    assert_string_equal(sv.v[2], "status");
    assert_null(sv.v[3]);
}

static void test_done(void **state)
{
    (void)state;
    struct strv sv = {0};
    strv_done(&sv);
    strv_push(&sv, "a");
    strv_done(&sv);
    assert_null(sv.v);
    assert_int_equal(sv.n, 0);
    strv_push(&sv, "b");
    assert_string_equal(sv.v[0], "b");
    strv_done(&sv);
}

static void test_pop(void **state)
{
    (void)state;
    struct strv sv = {0};
    assert_null(strv_pop(&sv));
    strv_pushl(&sv, "a", "b", NULL);
    char *last = strv_pop(&sv);
    assert_string_equal(last, "b");
    assert_int_equal(sv.n, 1);
    assert_null(sv.v[1]);
    free(last);
    strv_done(&sv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always_terminated),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_pushl),
        cmocka_unit_test(test_done),
        cmocka_unit_test(test_pop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
