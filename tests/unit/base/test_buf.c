#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_empty_is_a_string(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    assert_string_equal(b.s, "");
    assert_int_equal(b.len, 0);
    buf_add(&b, NULL, 0);
    buf_addrep(&b, 'x', 0);
    buf_cut(&b, 0);
    assert_ptr_equal(b.s, buf_empty); /* nothing was allocated */
}

static void test_bytes(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    buf_add(&b, "a\0b", 3);
    buf_addch(&b, '\0');
    buf_addstr(&b, "cd");
    buf_addrep(&b, '-', 3);
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.s, "a\0b\0cd---", 10);
}

static void test_growth_keeps_contents(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    for (size_t i = 0; i < 10000; i++) {
        buf_addch(&b, (char)('a' + i % 26));
        assert_int_equal(b.s[b.len], '\0');
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(b.s[i], 'a' + i % 26);
    assert_true(b.cap > 10000);
    assert_true(b.cap < 20000);
}

static void test_reserve(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    buf_reserve(&b, 1000);
    const char *before = b.s;
    assert_string_equal(b.s, "");
    buf_addrep(&b, 'x', 1000);
    assert_ptr_equal(b.s, before);
}

static void test_printf(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    buf_addf(&b, "%s", "");
    assert_string_equal(b.s, "");
    buf_addf(&b, "%d/%s", 12, "x");
    buf_addf(&b, "%300d", 5);
    assert_int_equal(b.len, 304);
    assert_memory_equal(b.s, "12/x ", 5);
    assert_string_equal(b.s + 302, " 5");
}

static void test_cut(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    buf_addstr(&b, "abcdef");
    buf_cut(&b, 10);
    assert_string_equal(b.s, "abcdef");
    buf_cut(&b, 2);
    assert_string_equal(b.s, "ab");
    assert_int_equal(b.len, 2);
    buf_addstr(&b, "z");
    assert_string_equal(b.s, "abz");
}

static void test_steal(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    autofree char *nothing = buf_steal(&b);
    assert_string_equal(nothing, "");
    assert_ptr_not_equal(nothing, buf_empty);
    buf_addstr(&b, "mine");
    autofree char *s = buf_steal(&b);
    assert_string_equal(s, "mine");
    assert_string_equal(b.s, "");
    buf_addstr(&b, "next");
    assert_string_equal(s, "mine");
    buf_done(&b);
    assert_string_equal(b.s, "");
    assert_int_equal(b.cap, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_is_a_string),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_growth_keeps_contents),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_steal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
