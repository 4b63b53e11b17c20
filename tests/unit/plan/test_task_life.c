/* The life of a task: the next state for each state and each event. */
#include "plan/engine/task_life.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const events[LIFE_EVENT_COUNT_] = {
    [LIFE_DUE] = "due",           [LIFE_BEGAN] = "began",           [LIFE_STARTED] = "started",
    [LIFE_FINISHED] = "finished", [LIFE_QUEUED] = "queued",         [LIFE_MERGED] = "merged",
    [LIFE_LANDED] = "landed",     [LIFE_UNCHANGED] = "unchanged",   [LIFE_FAILED] = "failed",
    [LIFE_WAITS] = "waits",       [LIFE_CONFLICTED] = "conflicted", [LIFE_SKIPPED] = "skipped",
};

/* One row per state, one column per event; "-": the task cannot have this event. */
/* clang-format off */
static const char *const table[] = {
    "           | due   began     started finished   queued  merged    landed unchanged conflicted failed waits   skipped",
    "waiting    | ready preparing running -          -       -         landed -         conflicted failed waiting skipped",
    "ready      | -     preparing running -          -       -         landed -         conflicted failed waiting skipped",
    "preparing  | -     -         running -          landing -         landed -         conflicted failed waiting -      ",
    "running    | -     -         -       committing -       -         landed done      conflicted failed waiting -      ",
    "committing | -     -         -       committing landing -         landed done      conflicted failed waiting -      ",
    "verifying  | -     -         -       -          landing -         landed -         conflicted failed waiting -      ",
    "landing    | -     -         -       -          landing verifying landed -         conflicted failed waiting -      ",
    "landed     | -     -         -       -          -       -         landed -         -          -      waiting -      ",
    "done       | -     -         -       -          -       -         landed -         -          -      waiting -      ",
    "failed     | -     -         -       -          -       -         landed -         -          -      waiting -      ",
    "conflicted | -     -         -       -          -       -         landed -         -          -      waiting -      ",
    "skipped    | -     -         -       -          -       -         landed -         -          -      waiting -      ",
};
/* clang-format on */

static enum task_state parse_state(const char *word)
{
    enum task_state state = task_state_find(word, TASK_STATE_COUNT_);
    if (state == TASK_STATE_COUNT_)
        fail_msg("no state: %s", word);
    return state;
}

static enum life_event parse_event(const char *word)
{
    for (int e = 0; e < LIFE_EVENT_COUNT_; e++) {
        if (strcmp(events[e], word) == 0)
            return (enum life_event)e;
    }
    fail_msg("no event: %s", word);
    return LIFE_EVENT_COUNT_;
}

static void check_cell(const char *row, const char *column, const char *expected)
{
    enum task_state from = parse_state(row), state = from;
    bool refused = strcmp(expected, "-") == 0;
    bool advanced = task_life_advance(&state, parse_event(column));
    if (advanced == refused)
        fail_msg("%s, %s: %s", row, column, advanced ? task_state_name(state) : "refused");
    if (state != (refused ? from : parse_state(expected)))
        fail_msg("%s, %s: %s", row, column, task_state_name(state));
}

static void every_event_leads_to_the_next_state(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_LEN(table), TASK_STATE_COUNT_ + 1);
    for (size_t i = 1; i < ARRAY_LEN(table); i++) {
        char *row = mem_str(table[i]), *head = mem_str(table[0]), *rest = NULL, *columns = NULL;
        const char *from = strtok_r(row, " |", &rest), *column = strtok_r(head, " |", &columns);
        size_t cells = 0;
        assert_int_equal(parse_state(from), i - 1);
        for (; column; column = strtok_r(NULL, " |", &columns), cells++)
            check_cell(from, column, strtok_r(NULL, " |", &rest));
        assert_int_equal(cells, LIFE_EVENT_COUNT_);
        free(row);
        free(head);
    }
}

static void some_states_are_ends(void **state)
{
    static const struct {
        bool ended, succeeded;
    } expected[TASK_STATE_COUNT_] = {
        [TASK_LANDED] = {true, true},   [TASK_DONE] = {true, true},
        [TASK_FAILED] = {true, false},  [TASK_CONFLICTED] = {true, false},
        [TASK_SKIPPED] = {true, false},
    };
    (void)state;
    for (int s = 0; s < TASK_STATE_COUNT_; s++) {
        assert_int_equal(task_has_ended((enum task_state)s), expected[s].ended);
        assert_int_equal(task_has_succeeded((enum task_state)s), expected[s].succeeded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_leads_to_the_next_state),
        cmocka_unit_test(some_states_are_ends),
    };
    return cmocka_run_group_tests_name("task_life", tests, NULL, NULL);
}
