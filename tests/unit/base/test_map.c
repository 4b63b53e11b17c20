#include "base/map.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_empty(void **state)
{
    (void)state;
    automap struct map m = {0};
    assert_null(map_get(&m, "a", 1));
    assert_null(map_get(&m, "", 0));
}

static void test_first_put_stays(void **state)
{
    (void)state;
    automap struct map m = {0};
    int one, two;
    assert_null(map_put(&m, "key", 3, &one));
    assert_ptr_equal(map_put(&m, "key", 3, &two), &one);
    assert_ptr_equal(map_get(&m, "key", 3), &one);
    assert_int_equal(m.n, 1);
}

static void test_keys_are_bytes(void **state)
{
    (void)state;
    automap struct map m = {0};
    int v[6];
    static const char *const keys[] = {"", "\0", "\0\0", "a", "a\0b", "a\0c"};
    static const size_t lens[] = {0, 1, 2, 1, 3, 3};
    for (size_t i = 0; i < 6; i++)
        assert_null(map_put(&m, keys[i], lens[i], &v[i]));
    for (size_t i = 0; i < 6; i++)
        assert_ptr_equal(map_get(&m, keys[i], lens[i]), &v[i]);
    assert_null(map_get(&m, "a\0", 2));
}

static void test_many(void **state)
{
    (void)state;
    enum { N = 20000 };
    automap struct map m = {0};
    char(*keys)[24] = mem_array(N, sizeof(*keys));
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%zu%.*s", i, (int)(i % 18), "-----------------");
        assert_null(map_put(&m, keys[i], strlen(keys[i]), keys[i]));
    }
    assert_int_equal(m.n, N);
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(map_get(&m, keys[i], strlen(keys[i])), keys[i]);
    assert_null(map_get(&m, "x", 1));
    assert_true(m.cap > m.n);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_first_put_stays),
        cmocka_unit_test(test_keys_are_bytes),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
