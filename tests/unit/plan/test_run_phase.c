/* The next step of a run in each phase, and the effect of a request to stop. */
#include "base/mem.h"
#include "plan/engine/run_phase.h"

#include <stddef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const steps[] = {
    [RUN_START_TASKS] = "start tasks", [RUN_WAIT] = "wait",     [RUN_EMPTY_POOL] = "empty the pool",
    [RUN_PUBLISH] = "publish",         [RUN_FINISH] = "finish", [RUN_CLOSE] = "close",
};

struct step_case {
    const char *what;
    struct run_facts facts;
    enum run_step expected;
};

static void check_steps(const struct step_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum run_step got = run_phase_next(&cases[i].facts);
        if (got != cases[i].expected)
            fail_msg("%s: %s, not %s", cases[i].what, steps[got], steps[cases[i].expected]);
    }
}

static void work_goes_on_while_there_is_some(void **state)
{
    static const struct step_case cases[] = {
        {"tasks are left", {.tasks_left = 2}, RUN_START_TASKS},
        {"tasks are left beside attempts", {.tasks_left = 2, .attempts = 1}, RUN_START_TASKS},
        {"the last attempt works", {.attempts = 1}, RUN_START_TASKS},
        {"an observer is busy", {.tasks_left = 1, .observers_busy = true}, RUN_START_TASKS},
        {"the base moves", {.tasks_left = 1, .publication_busy = true}, RUN_START_TASKS},
        {"unused work trees", {.tasks_left = 1, .pool_filled = true}, RUN_START_TASKS},
        {"a user adds work to the last publication",
         {.phase = RUN_PUBLISHING, .tasks_left = 1, .has_base = true, .publication_busy = true},
         RUN_START_TASKS},

        {"paused", {.tasks_left = 1, .paused = true}, RUN_WAIT},
        {"paused beside attempts", {.tasks_left = 1, .attempts = 1, .paused = true}, RUN_WAIT},
        {"draining", {.tasks_left = 2, .attempts = 1, .draining = true}, RUN_WAIT},
        {"stopping", {.tasks_left = 2, .attempts = 1, .stopping = true}, RUN_WAIT},
        {"failed", {.tasks_left = 2, .attempts = 1, .failed = true}, RUN_WAIT},
        {"the last attempt is stopped", {.attempts = 1, .stopping = true}, RUN_WAIT},
    };
    (void)state;
    check_steps(cases, ARRAY_LEN(cases));
}

static void a_run_without_work_ends(void **state)
{
    static const struct step_case cases[] = {
        {"every task has ended", {.has_base = true}, RUN_PUBLISH},
        {"drained", {.has_base = true, .tasks_left = 1, .draining = true}, RUN_PUBLISH},
        {"stopped", {.has_base = true, .tasks_left = 1, .stopping = true}, RUN_PUBLISH},
        {"failed", {.has_base = true, .tasks_left = 1, .failed = true}, RUN_PUBLISH},
        {"paused, and every task has ended", {.has_base = true, .paused = true}, RUN_PUBLISH},
        {"paused and stopped",
         {.has_base = true, .tasks_left = 1, .paused = true, .stopping = true},
         RUN_PUBLISH},
        {"an observer is busy", {.has_base = true, .observers_busy = true}, RUN_PUBLISH},
        {"no base", {.phase = RUN_WORKING}, RUN_FINISH},
        {"no base, stopped", {.tasks_left = 1, .stopping = true}, RUN_FINISH},

        {"unused work trees", {.has_base = true, .pool_filled = true}, RUN_EMPTY_POOL},
        {"... while the base moves",
         {.phase = RUN_PUBLISHING, .has_base = true, .pool_filled = true, .publication_busy = true},
         RUN_EMPTY_POOL},
        {"... when the base has moved",
         {.phase = RUN_PUBLISHING, .has_base = true, .pool_filled = true},
         RUN_EMPTY_POOL},
        {"they are being deleted", {.has_base = true, .attempts = 1, .stopping = true}, RUN_WAIT},

        {"the base moves", {.has_base = true, .publication_busy = true}, RUN_WAIT},
        {"the base moves one last time",
         {.phase = RUN_PUBLISHING, .has_base = true, .publication_busy = true},
         RUN_WAIT},
        {"it has moved", {.phase = RUN_PUBLISHING, .has_base = true}, RUN_FINISH},
        {"it has moved, and the run is stopped",
         {.phase = RUN_PUBLISHING, .has_base = true, .tasks_left = 1, .stopping = true},
         RUN_FINISH},
        {"it could not move, and the run has failed",
         {.phase = RUN_PUBLISHING, .has_base = true, .tasks_left = 1, .failed = true},
         RUN_FINISH},
        {"it has moved, and a user has added work",
         {.phase = RUN_PUBLISHING, .has_base = true, .tasks_left = 1},
         RUN_START_TASKS},
        {"it has moved, and a user has added work to a paused run",
         {.phase = RUN_PUBLISHING, .has_base = true, .tasks_left = 1, .paused = true},
         RUN_WAIT},
    };
    (void)state;
    check_steps(cases, ARRAY_LEN(cases));
}

static void an_ended_run_waits_for_observers_alone(void **state)
{
    static const struct step_case cases[] = {
        {"over", {.phase = RUN_OVER, .has_base = true}, RUN_WAIT},
        {"over, an observer is busy", {.phase = RUN_OVER, .observers_busy = true}, RUN_WAIT},
        {"finishing", {.phase = RUN_FINISHING}, RUN_CLOSE},
        {"finishing, an observer is busy",
         {.phase = RUN_FINISHING, .observers_busy = true},
         RUN_WAIT},
        {"finishing a drained run",
         {.phase = RUN_FINISHING, .has_base = true, .tasks_left = 1, .draining = true},
         RUN_CLOSE},
        {"finishing, and the store fails", {.phase = RUN_FINISHING, .failed = true}, RUN_CLOSE},
        {"closed", {.phase = RUN_CLOSED, .observers_busy = true}, RUN_WAIT},
    };
    (void)state;
    check_steps(cases, ARRAY_LEN(cases));
}

static void a_signal_means_what_the_phase_says(void **state)
{
    static const struct {
        const char *what;
        enum run_phase phase;
        bool stopping;
        enum run_interrupt expected;
    } cases[] = {
        {"the first one", RUN_WORKING, false, RUN_STOP_AGENTS},
        {"the second one", RUN_WORKING, true, RUN_KILL_AGENTS},
        {"during the last publication", RUN_PUBLISHING, false, RUN_STOP_AGENTS},
        {"... again", RUN_PUBLISHING, true, RUN_KILL_AGENTS},
        {"before the result is recorded", RUN_OVER, false, RUN_STOP_AGENTS},
        {"... again", RUN_OVER, true, RUN_KILL_AGENTS},
        {"afterwards", RUN_FINISHING, false, RUN_GIVE_UP},
        {"afterwards, in a stopped run", RUN_FINISHING, true, RUN_GIVE_UP},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum run_interrupt got = run_phase_interrupt(cases[i].phase, cases[i].stopping);
        if (got != cases[i].expected)
            fail_msg("%s: %d, not %d", cases[i].what, got, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_goes_on_while_there_is_some),
        cmocka_unit_test(a_run_without_work_ends),
        cmocka_unit_test(an_ended_run_waits_for_observers_alone),
        cmocka_unit_test(a_signal_means_what_the_phase_says),
    };
    return cmocka_run_group_tests_name("run_phase", tests, NULL, NULL);
}
