/* The past life of a task, as a replay and as the events of earlier versions tell it. */
#include "plan/engine/rules/past_life.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void describe(struct buf *out, const struct past_life *life)
{
    const struct {
        const char *name;
        bool value;
    } flags[] = {{"at-tip ", life->start_at_tip},
                 {"in-conflict ", life->in_conflict},
                 {"message ", life->has_message},
                 {"follows ", life->follows_landing}};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        buf_addstr(out, flags[i].value ? flags[i].name : "");
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (life->retries_used[f])
            buf_addf(out, "%s:%d ", failure_names[f], life->retries_used[f]);
    }
}

static const struct {
    struct engine_task task;
    const char *life;
} engine_rows[] = {
    {{.state = TASK_WAITING}, ""},
    {{.state = TASK_RUNNING, .retries_used = {[FAILURE_VERIFY] = 2}}, "verify:2 "},
    {{.state = TASK_WAITING, .start_at_tip = true, .in_conflict = true, .has_message = true},
     "at-tip in-conflict message "},
    {{.state = TASK_RUNNING, .follows_landing = true}, "follows "},
    {{.state = TASK_LANDED}, "at-tip "},
    {{.state = TASK_CONFLICTED}, "at-tip "},
    {{.state = TASK_FAILED,
      .retries_used = {[FAILURE_SCOPE] = 1},
      .in_conflict = true,
      .has_message = true},
     ""},
    {{.state = TASK_DONE, .retries_used = {[FAILURE_TRANSIENT] = 1}}, ""},
};

static void test_by_the_engine(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(engine_rows); i++) {
        autobuf struct buf text = BUF_INIT;
        const struct past_life life = past_life_of_engine(&engine_rows[i].task);
        describe(&text, &life);
        assert_string_equal(text.s, engine_rows[i].life);
    }
}

static const struct {
    struct task_evidence events;
    const char *life;
} event_rows[] = {
    {{0}, ""},
    {{.has_landed = true}, "at-tip "},
    {{.on_tip = true, .in_conflict = true, .has_message = true}, "at-tip in-conflict message "},
    {{.follows_landing = true, .landed = "1234"}, "follows "},
    {{.follows_landing = true}, ""},
    {{.retries_used = {[FAILURE_VERIFY] = 3}}, "verify:3 "},
};

static void test_by_the_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
        autobuf struct buf text = BUF_INIT;
        const struct past_life life = past_life_of_events(&event_rows[i].events);
        describe(&text, &life);
        assert_string_equal(text.s, event_rows[i].life);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_the_engine),
        cmocka_unit_test(test_by_the_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
