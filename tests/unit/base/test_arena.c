#include "base/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_aligned_and_zeroed(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t size = 0; size < 200; size++) {
        (void)arena_dup(&a, "x", 1); /* puts the next one off its alignment */
        unsigned char *p = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    arena_done(&a);
}

static void test_blocks_do_not_overlap(void **state)
{
    (void)state;
    enum { N = 500 };
    struct arena a = {0};
    unsigned char *blocks[N];
    for (size_t i = 0; i < N; i++) {
        blocks[i] = arena_array(&a, i % 37 + 1, 3);
        memset(blocks[i], (int)(i & 0xff), (i % 37 + 1) * 3);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < (i % 37 + 1) * 3; k++)
            assert_int_equal(blocks[i][k], i & 0xff);
    }
    arena_done(&a);
}

static void test_larger_than_a_chunk(void **state)
{
    (void)state;
    struct arena a = {0};
    const size_t size = 5u << 20;
    char *p = arena_alloc(&a, size);
    p[0] = p[size - 1] = 'x';
    assert_true(a.total >= size);
    assert_string_equal(arena_str(&a, "behind"), "behind");
    assert_int_equal(p[size - 1], 'x');
    arena_done(&a);
}

static void test_strings(void **state)
{
    (void)state;
    struct arena a = {0};
    char *dup = arena_dup(&a, "a\0b", 3);
    assert_memory_equal(dup, "a\0b", 4);
    assert_string_equal(arena_dup(&a, NULL, 0), "");
    assert_string_equal(arena_str(&a, "word"), "word");
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
    assert_string_equal(arena_printf(&a, "%5000d", 1) + 4990, "         1");
    arena_done(&a);
}

static void test_done_leaves_it_usable(void **state)
{
    (void)state;
    struct arena a = {0};
    arena_done(&a);
    (void)arena_alloc(&a, 10);
    assert_true(a.total > 0);
    arena_done(&a);
    assert_int_equal(a.total, 0);
    assert_null(a.records.chunks);
    assert_string_equal(arena_str(&a, "again"), "again");
    arena_done(&a);
}

/* Records and strings are in different chunks. */
static void test_strings_outlive_records(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct arena a = {0};
    const char *words[N];
    for (int i = 0; i < N; i++) {
        (void)arena_array(&a, 3, 40);
        words[i] = arena_printf(&a, "word %d", i);
    }
    size_t before = a.total;
    arena_forget_records(&a);
    assert_true(before - a.total >= (size_t)N * 3 * 40);
    for (int i = 0; i < N; i++)
        assert_int_equal(strtol(words[i] + strlen("word "), NULL, 10), i);
    memset(arena_alloc(&a, 1000), 'x', 1000); /* it can be used again */
    assert_string_equal(words[0], "word 0");
    arena_done(&a);
    assert_int_equal(a.total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aligned_and_zeroed),
        cmocka_unit_test(test_blocks_do_not_overlap),
        cmocka_unit_test(test_larger_than_a_chunk),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_done_leaves_it_usable),
        cmocka_unit_test(test_strings_outlive_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
