/* When an agent is stopped because it takes too long, and what becomes of its question. */
#include "base/mem.h"
#include "plan/engine/attempt/timeouts.h"

#include <stddef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { S = 1000, MINUTE = 60 * S, HOUR = 60 * MINUTE };

/* Each agent has started at 1 ms. */
static void each_wait_is_judged(void **state)
{
    static const struct {
        const char *what;
        struct agent_wait wait;
        int64_t now;
        enum stop_reason stop;
    } cases[] = {
        {"nothing limits it", {.last_output = 1}, 9 * HOUR, STOP_NONE},
        {"it works within its timeout", {.timeout = 5 * S}, 5 * S, STOP_NONE},
        {"its timeout is over", {.timeout = 5 * S}, 5 * S + 1, STOP_TIMEOUT},
        {"... and it is silent as well",
         {.timeout = 5 * S, .last_output = 1, .idle_timeout = S},
         6 * S,
         STOP_TIMEOUT},
        {"... and it waits for a limit as well",
         {.timeout = 5 * S, .waits = 1, .again = HOUR},
         6 * S,
         STOP_TIMEOUT},

        {"it prints in time", {.last_output = 2 * S, .idle_timeout = S}, 3 * S - 1, STOP_NONE},
        {"it is silent", {.last_output = 2 * S, .idle_timeout = S}, 3 * S, STOP_IDLE},
        {"it is silent, and may be", {.last_output = 1, .idle_timeout = 0}, HOUR, STOP_NONE},
        {"its tool works in silence",
         {.last_output = 1, .idle_timeout = S, .tool_works = true},
         HOUR,
         STOP_NONE},
        {"... until its timeout",
         {.timeout = HOUR, .last_output = 1, .idle_timeout = S, .tool_works = true},
         HOUR + 1,
         STOP_TIMEOUT},
        {"output that is newer than this look",
         {.last_output = 5 * S, .idle_timeout = S},
         4 * S,
         STOP_NONE},

        {"it waits for hours, as it says: at once",
         {.waits = 1, .again = 1 + 2 * HOUR},
         2,
         STOP_LIMIT},
        {"it waits for two minutes, as it says",
         {.waits = 1, .again = 1 + 2 * MINUTE},
         2,
         STOP_LIMIT},
        {"it waits for a minute, as it says", {.waits = 1, .again = 1 + MINUTE}, 2, STOP_NONE},
        {"... and its model thinks since", {.waits = 1, .again = 1 + MINUTE}, 9 * HOUR, STOP_NONE},
        {"it would not say that it goes on", {.waits = 1}, 9 * HOUR, STOP_NONE},
        {"it would say so, and has time", {.waits = 1, .waits_on = true}, 1 + MINUTE, STOP_NONE},
        {"it would say so, and has not",
         {.waits = 1, .waits_on = true},
         1 + 2 * MINUTE,
         STOP_LIMIT},
        {"it waits for a short time in silence",
         {.waits = 1, .again = 1 + MINUTE, .last_output = 1, .idle_timeout = S},
         2 * S,
         STOP_IDLE},
        {"it waits for a limit while a tool works",
         {.waits = 1, .again = HOUR, .tool_works = true},
         2,
         STOP_LIMIT},
        {"it waits for a limit, and for a person as well",
         {.waits = 1, .again = HOUR, .asks = true, .asked = 1, .reported = true},
         HOUR,
         STOP_LIMIT},

        {"its question is new, and it is silent",
         {.asks = true, .last_output = 1, .idle_timeout = S},
         2 * S,
         STOP_IDLE},
        {"we have just reported its question",
         {.asks = true, .asked = 1, .last_output = 1, .idle_timeout = S},
         2 * S,
         STOP_NONE},
        {"its question is reported, and it may wait",
         {.asks = true, .asked = 1, .reported = true, .last_output = 1, .idle_timeout = S},
         MINUTE,
         STOP_NONE},
        {"nobody answers", {.asks = true, .asked = 1, .reported = true}, MINUTE + 1, STOP_QUESTION},
        {"nobody answers within the plan's idle timeout",
         {.asks = true, .asked = 1, .reported = true, .plan_idle_timeout = 5 * S},
         5 * S + 1,
         STOP_QUESTION},
        {"the plan's idle timeout is longer",
         {.asks = true, .asked = 1, .reported = true, .plan_idle_timeout = HOUR},
         HOUR,
         STOP_NONE},
        {"the plan's idle timeout is shorter than our report takes",
         {.asks = true, .asked = 1, .plan_idle_timeout = 500},
         1 + S,
         STOP_QUESTION},
        {"it has its answer, and is silent",
         {.asked = 1, .reported = true, .last_output = 1, .idle_timeout = S},
         2 * S,
         STOP_IDLE},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_wait wait = cases[i].wait;
        wait.started = 1;
        enum stop_reason got = timeouts_judge(&wait, cases[i].now).stop;
        if (got != cases[i].stop)
            fail_msg("%s: %d, not %d", cases[i].what, got, cases[i].stop);
    }
}

static void each_question_is_reported_once(void **state)
{
    static const struct {
        const char *what;
        struct agent_wait wait;
        int64_t now;
        enum question_step step;
    } cases[] = {
        {"it asks nothing", {.asks = false}, HOUR, QUESTION_KEEP},
        {"it asks", {.asks = true}, 5 * S, QUESTION_NOTE},
        {"it has just asked", {.asks = true, .asked = 5 * S}, 6 * S - 1, QUESTION_KEEP},
        {"its question stands", {.asks = true, .asked = 5 * S}, 6 * S, QUESTION_REPORT},
        {"we have reported it", {.asks = true, .asked = 1, .reported = true}, HOUR, QUESTION_KEEP},
        {"it has an answer", {.asked = 1, .reported = true}, HOUR, QUESTION_FORGET},
        {"it had an answer at once", {.asked = 1}, 200, QUESTION_FORGET},
        {"its timeout is over", {.asks = true, .asked = 1, .timeout = S}, HOUR, QUESTION_KEEP},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum question_step got = timeouts_judge(&cases[i].wait, cases[i].now).question;
        if (got != cases[i].step)
            fail_msg("%s: %d, not %d", cases[i].what, got, cases[i].step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wait_is_judged),
        cmocka_unit_test(each_question_is_reported_once),
    };
    return cmocka_run_group_tests_name("timeouts", tests, NULL, NULL);
}
