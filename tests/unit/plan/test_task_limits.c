/* The limit that applies to a task: its own, the plan's, or the default. */
#include "plan/engine/limits/task_limits.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NONE = PLAN_UNSET, DEFAULT_FILES = 100000 };

static const int64_t gib = (int64_t)1 << 30;

static struct task_limits find_limits(struct task_limits own, struct task_limits all)
{
    struct task task = {.limits = own};
    struct plan plan = {.tasks = &task, .task_count = 1, .task_limits = all};
    return task_limits_of(&plan, 0);
}

static void the_task_comes_before_the_plan(void **state)
{
    static const struct {
        int64_t own, plan;
        int64_t machine; /* of memory, processes and cpu, which have no default */
        bool is_default; /* of output and changes */
    } cases[] = {
        {NONE, NONE, 0, true}, {NONE, 7, 7, false}, {NONE, 0, 0, false}, {5, NONE, 5, false},
        {5, 7, 5, false},      {5, 0, 5, false},    {0, NONE, 0, false}, {0, 7, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t own = cases[i].own, all = cases[i].plan, machine = cases[i].machine;
        struct task_limits got = find_limits((struct task_limits){own, own, own, own, {own, own}},
                                             (struct task_limits){all, all, all, all, {all, all}});
        assert_int_equal(got.memory, machine);
        assert_int_equal(got.processes, machine);
        assert_int_equal(got.cpu, machine);
        assert_int_equal(got.output, cases[i].is_default ? gib : machine);
        assert_int_equal(got.change.files, cases[i].is_default ? DEFAULT_FILES : machine);
        assert_int_equal(got.change.bytes, cases[i].is_default ? 2 * gib : machine);
    }
}

static void each_limit_has_its_own_source(void **state)
{
    (void)state;
    struct task_limits got = find_limits((struct task_limits){1, NONE, NONE, 4, {NONE, 6}},
                                         (struct task_limits){11, 12, NONE, NONE, {15, 16}});
    assert_int_equal(got.memory, 1);
    assert_int_equal(got.processes, 12);
    assert_int_equal(got.cpu, 0);
    assert_int_equal(got.output, 4);
    assert_int_equal(got.change.files, 15);
    assert_int_equal(got.change.bytes, 6);
}

static void a_change_without_a_plan_has_the_defaults(void **state)
{
    (void)state;
    struct task_limits none = TASK_LIMITS_INIT;
    struct change_limits usual = change_limits_of(), got = find_limits(none, none).change;
    assert_int_equal(usual.files, got.files);
    assert_int_equal(usual.bytes, got.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_task_comes_before_the_plan),
        cmocka_unit_test(each_limit_has_its_own_source),
        cmocka_unit_test(a_change_without_a_plan_has_the_defaults),
    };
    return cmocka_run_group_tests_name("task_limits", tests, NULL, NULL);
}
