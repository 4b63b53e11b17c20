#include "view/idle.h"

#include "base/arena.h"
#include "base/node/node_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void note(struct idle *idle, int64_t time, int64_t ms)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "idle_ms", ms);
    idle_note(idle, time, data);
    arena_done(&a);
}

/* The run stood still from 100 to 200 and from 300 to 350. */
static void idle_times_do_not_count(void **state)
{
    (void)state;
    static const struct {
        int64_t from, to, ms;
    } cases[] = {
        {0, 50, 50},    {0, 100, 100},  {0, 150, 100},   {0, 200, 100}, {0, 250, 150},
        {120, 180, 0},  {150, 250, 50}, {200, 300, 100}, {0, 400, 250}, {320, 330, 0},
        {340, 360, 10}, {50, 40, 0},    {400, 500, 100},
    };
    struct idle idle = {0};
    note(&idle, 200, 100);
    note(&idle, 350, 50);
    note(&idle, 360, 0);
    note(&idle, 370, -5);
    idle_note(&idle, 380, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(idle_without(&idle, cases[i].from, cases[i].to), cases[i].ms);
    idle_done(&idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_times_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
