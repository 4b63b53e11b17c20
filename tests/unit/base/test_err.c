#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_set(void **state)
{
    (void)state;
    struct err err = {.errnum = 5};
    assert_int_equal(err_set(&err, ERR_INPUT, "no task '%s'", "x"), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(err.errnum, 0);
    assert_string_equal(err.msg, "no task 'x'");
}

static void test_sys(void **state)
{
    (void)state;
    struct err err = {0};
    errno = ENOENT;
    assert_int_equal(err_sys(&err, "open '%s'", "f"), -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(err.errnum, ENOENT);
    assert_string_equal(err.msg, "open 'f': No such file or directory");
}

static void test_wrap(void **state)
{
    (void)state;
    struct err err = {0};
    errno = EACCES;
    (void)err_sys(&err, "open");
    assert_int_equal(err_wrap(&err, "plan '%s'", "p"), -1);
    assert_string_equal(err.msg, "plan 'p': open: Permission denied");
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(err.errnum, EACCES);
}

static void test_null(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_INPUT, "x"), -1);
    assert_int_equal(err_sys(NULL, "x"), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void test_long_messages_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    const size_t max = sizeof(err.msg) - 1;
    (void)err_set(&err, ERR_INPUT, "%600d", 1);
    assert_int_equal(strlen(err.msg), max);
    (void)err_wrap(&err, "front");
    assert_int_equal(strlen(err.msg), max);
    assert_memory_equal(err.msg, "front:  ", 8);
    errno = ENOENT;
    (void)err_sys(&err, "%600d", 1);
    assert_int_equal(strlen(err.msg), max);
    (void)err_sys(&err, "%509d", 1);
    assert_string_equal(err.msg + 507, " 1: ");
    (void)err_wrap(&err, "%511d", 2);
    assert_string_equal(err.msg + 509, " 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_sys),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
