#include "sys/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_clocks(void **state)
{
    (void)state;
    int64_t mono = clock_mono(), wall = clock_wall();
    assert_true(wall > 1600000000000); /* later than 2020 */
    for (int i = 0; i < 1000; i++) {
        int64_t next = clock_mono();
        assert_true(next >= mono);
        mono = next;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
