/* How often a task is retried, and how long it waits before that. */
#include "base/mem.h"
#include "plan/engine/attempt/retry.h"

#include <stddef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { UNSET = PLAN_UNSET, PARK = RETRY_PARK, STOP = RETRY_STOP, FAIL = RETRY_FAIL };

static void each_word_and_number_is_obeyed(void **state)
{
    static const struct {
        const char *what;
        enum failure failure;
        int plan;
        bool no_wait, reverts;
        int expected;
    } cases[] = {
        {"a limit", FAILURE_LIMIT, UNSET, false, false, 5},
        {"an overload", FAILURE_OVERLOADED, UNSET, false, false, 5},
        {"a lost connection", FAILURE_TRANSIENT, UNSET, false, false, 2},
        {"a failed verification", FAILURE_VERIFY, UNSET, false, false, 1},
        {"a wrong key", FAILURE_AUTH, UNSET, false, false, 0},
        {"a conflict", FAILURE_CONFLICT, UNSET, false, false, 0},
        {"a stop", FAILURE_STOPPED, UNSET, false, false, 0},
        {"a number", FAILURE_AUTH, 3, false, false, 3},
        {"none", FAILURE_VERIFY, 0, false, false, 0},
        {"'fail'", FAILURE_VERIFY, FAIL, false, false, 0},
        {"'stop'", FAILURE_OVERLOADED, STOP, false, false, 0},
        {"'park'", FAILURE_LIMIT, PARK, false, false, 5},
        {"'repair'", FAILURE_CONFLICT, RETRY_REPAIR, false, false, 2},
        {"nobody waits for a limit", FAILURE_LIMIT, UNSET, true, false, 0},
        {"... not even with 'park'", FAILURE_LIMIT, PARK, true, false, 0},
        {"... but a number counts", FAILURE_LIMIT, 2, true, false, 2},
        {"... and other failures are retried", FAILURE_VERIFY, UNSET, true, false, 1},
        {"stray changes", FAILURE_SCOPE, UNSET, false, false, 0},
        {"work that undoes that of others", FAILURE_SCOPE, UNSET, false, true, 1},
        {"... with a number", FAILURE_SCOPE, 3, false, true, 3},
        {"... with 'fail'", FAILURE_SCOPE, FAIL, false, true, 0},
        {"... which fails in another way", FAILURE_SETUP, UNSET, false, true, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct retry plan = {0};
        plan.times[cases[i].failure] = cases[i].plan;
        struct retries r = {
            .plan = &plan, .no_wait = cases[i].no_wait, .reverts = cases[i].reverts};
        int got = retry_times(&r, cases[i].failure);
        if (got != cases[i].expected)
            fail_msg("%s: %d, not %d", cases[i].what, got, cases[i].expected);
    }
}

static void only_a_task_that_may_wait_is_parked(void **state)
{
    static const struct {
        const char *what;
        int plan;
        bool no_wait, expected;
    } cases[] = {
        {"by default", UNSET, false, true},     {"with 'park'", PARK, false, true},
        {"with a number", 3, false, false},     {"with none", 0, false, false},
        {"with 'fail'", FAIL, false, false},    {"with 'stop'", STOP, false, false},
        {"with --no-wait", UNSET, true, false}, {"with both", PARK, true, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct retry plan = {.times = {[FAILURE_LIMIT] = cases[i].plan}};
        struct retries r = {.plan = &plan, .no_wait = cases[i].no_wait};
        if (retry_parks(&r) != cases[i].expected)
            fail_msg("%s: %d", cases[i].what, !cases[i].expected);
    }
}

static void retries_are_left_until_they_are_used_or_unpaid(void **state)
{
    static const struct {
        int times, used;
        bool budget_spent, expected;
    } cases[] = {
        {0, 0, false, false}, {1, 0, false, true},  {1, 1, false, false},
        {3, 2, false, true},  {3, 4, false, false}, {3, 0, true, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct retry plan = {.times = {[FAILURE_AUTH] = cases[i].times, [FAILURE_VERIFY] = 9}};
        struct retries r = {.plan = &plan,
                            .used = {[FAILURE_AUTH] = cases[i].used},
                            .budget_spent = cases[i].budget_spent};
        if (retry_is_left(&r, FAILURE_AUTH) != cases[i].expected)
            fail_msg("%d of %d: %d", cases[i].used, cases[i].times, !cases[i].expected);
    }
}

static void pauses_double_up_to_five_minutes(void **state)
{
    static const struct {
        enum failure failure;
        int times;
        int64_t expected;
    } cases[] = {
        {FAILURE_LIMIT, 0, 30000},      {FAILURE_LIMIT, 1, 60000},    {FAILURE_LIMIT, 3, 240000},
        {FAILURE_LIMIT, 4, 300000},     {FAILURE_LIMIT, 19, 300000},  {FAILURE_LIMIT, 1000, 300000},
        {FAILURE_OVERLOADED, 2, 20000}, {FAILURE_TRANSIENT, 0, 1000}, {FAILURE_VERIFY, 0, 1000},
        {FAILURE_AUTH, 2, 4000},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = retry_backoff(cases[i].failure, cases[i].times, RETRY_MIDDLE);
        if (got != cases[i].expected)
            fail_msg("%s %d: %lld", failure_names[cases[i].failure], cases[i].times,
                     (long long)got);
    }
}

static void a_pause_varies_by_a_quarter(void **state)
{
    static const struct {
        int64_t ms;
        uint32_t random;
        int64_t expected;
    } cases[] = {
        {1000, 0, 750},
        {1000, RETRY_MIDDLE, 1000},
        {1000, UINT32_MAX, 1250},
        {300000, 0, 225000},
        {300000, RETRY_MIDDLE, 300000},
        {300000, UINT32_MAX, 375000},
        {0, UINT32_MAX, 0},
        {1, UINT32_MAX, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(retry_spread(cases[i].ms, cases[i].random), cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_and_number_is_obeyed),
        cmocka_unit_test(only_a_task_that_may_wait_is_parked),
        cmocka_unit_test(retries_are_left_until_they_are_used_or_unpaid),
        cmocka_unit_test(pauses_double_up_to_five_minutes),
        cmocka_unit_test(a_pause_varies_by_a_quarter),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
