/* The journal of an engine: what stays in it, how a section begins, and which text is refused. */
#include "plan/engine/engine_journal.h"

#include "base/mem.h"
#include "engine_words.h"
#include "plan/engine/engine_line.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct engine_replay start_replay(struct engine_fixture *f, struct engine *e)
{
    *e = (struct engine){0};
    return (struct engine_replay){
        .plan = &f->plan, .graph = &f->graph, .claims = &f->claims, .engine = e};
}

static void end_replay(struct engine_replay *r)
{
    engine_done(r->engine);
    engine_replay_done(r);
}

static void test_a_section_begins_with_the_set_up(void **state)
{
    static const bool wanted[ENGINE_TASKS_MAX] = {true, true, false, true};
    autobuf struct buf text = BUF_INIT;
    struct engine_fixture f = {.what = "set-up"};
    struct engine e;
    struct err err = {0};
    (void)state;
    engine_fixture_build(&f, "0 | 1 fallback | 2 fallback | 3 | run workers 3 no-wait");
    struct engine_replay r = start_replay(&f, &e);
    engine_journal_begin(&text, &f.engine, wanted);
    assert_string_equal(
        text.s, "begin format=1 plan=8238100900402362834 tasks=4 workers=3 no-wait=yes lanes=2 "
                "wanted=1*2,0*1,1*1 own=0*4 fallback=-1*1,1*2,-1*1\n");
    assert_int_equal(engine_replay_text(&r, text.s, &err), 0);
    assert_int_equal(r.sections, 1);
    assert_int_equal(e.sched.workers, 3);
    assert_true(e.no_wait);
    assert_int_equal(e.lanes.count, 2);
    assert_int_equal(e.sched.state[2], SCHED_DONE);
    assert_int_equal(e.sched.left, 3);
    assert_int_equal(e.tasks[1].fallback_lane, 1);
    assert_int_equal(e.tasks[3].fallback_lane, -1);
    end_replay(&r);
    engine_fixture_drop(&f);
}

static void hear(struct buf *text, struct engine_fixture *f, struct engine_event ev)
{
    struct actions actions = {0};
    if (engine_hear(&f->engine, &ev, &actions))
        engine_line_write(text, &ev);
    vec_done(&actions.list);
}

/* A question without an answer may still have changed something: the list of ready tasks. */
static void test_idle_questions_leave_no_line(void **state)
{
    autobuf struct buf text = BUF_INIT;
    struct engine_fixture f = {.what = "questions"};
    struct engine_event ask = {.kind = ENGINE_STARTS_NEXT, .task = -1};
    (void)state;
    engine_fixture_build(&f, "0 | 1 after 0 | run workers 2");
    hear(&text, &f, ask);
    assert_string_equal(text.s, "starts-next\n");
    hear(&text, &f, ask);
    hear(&text, &f, (struct engine_event){.kind = ENGINE_LANDS_NEXT, .task = -1});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_ABANDONS_NEXT, .task = -1});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_PUBLISH_DUE, .task = -1});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_TURN_ENDED, .task = -1});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_AGENT_SPOKE, .task = 0});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_USED, .task = 0});
    assert_string_equal(text.s, "starts-next\n");
    hear(&text, &f, (struct engine_event){.kind = ENGINE_PAUSED, .task = -1});
    assert_string_equal(text.s, "starts-next\npaused\n");
    buf_cut(&text, 0);
    hear(&text, &f, (struct engine_event){.kind = ENGINE_CONTINUED, .task = -1});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_FAILED, .task = 0});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_ENDED, .task = 0});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_TAKEN_BACK, .task = 0});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_READY, .task = 0});
    hear(&text, &f, (struct engine_event){.kind = ENGINE_HELD, .task = 0});
    buf_cut(&text, 0);
    hear(&text, &f, ask); /* drops the entry of the held task */
    assert_string_equal(text.s, "starts-next\n");
    hear(&text, &f, ask);
    assert_string_equal(text.s, "starts-next\n");
    engine_fixture_drop(&f);
}

#define PLAN   "plan=2798661700575743270 "
#define BEGIN  "begin format=1 " PLAN "tasks=2 workers=1 no-wait=no lanes=2 "
#define LISTS  "wanted=1*2 own=0*2 fallback=-1*2\n"
#define ENGINE BEGIN LISTS

/* Each text follows a good one, and leaves the engine as it is. */
static void test_other_text_is_refused(void **state)
{
    static const char *const texts[] = {
        "paused",
        "\n",
        "waits task=2\n",
        "lane-due now=0 random=0 lane=2\n",
        "lane-due now=0 random=0 lane=-1\n",
        "landing-failed\n",
        "begin\n",
        "begin \n",
        "begin format=2 " PLAN "tasks=2 workers=1 no-wait=no lanes=2 " LISTS,
        "begin format=1 " PLAN "tasks=3 workers=1 no-wait=no lanes=2 "
        "wanted=1*3 own=0*3 fallback=-1*3\n",
        "begin format=1 " PLAN "tasks=2 workers=-1 no-wait=no lanes=2 " LISTS,
        "begin format=1 " PLAN "tasks=2 workers=1 no-wait=0 lanes=2 " LISTS,
        "begin format=1 " PLAN "tasks=2 workers=1 no-wait=no lanes=0 " LISTS,
        "begin format=1 " PLAN "tasks=2 workers=1 no-wait=no lanes=6 " LISTS,
        "begin format=1 plan=2798661700575743271 tasks=2 workers=1 no-wait=no lanes=2 " LISTS,
        "begin format=1 tasks=2 workers=1 no-wait=no lanes=2 " LISTS,
        BEGIN "wanted=1*1 own=0*2 fallback=-1*2\n",
        BEGIN "wanted=1*3 own=0*2 fallback=-1*2\n",
        BEGIN "wanted=1*1,1*0,1*1 own=0*2 fallback=-1*2\n",
        BEGIN "wanted=2*2 own=0*2 fallback=-1*2\n",
        BEGIN "wanted=-1*2 own=0*2 fallback=-1*2\n",
        BEGIN "wanted=1*2 own=2*2 fallback=-1*2\n",
        BEGIN "wanted=1*2 own=-1*2 fallback=-1*2\n",
        BEGIN "wanted=1*2 own=0*2 fallback=2*2\n",
        BEGIN "wanted=1*2 own=0*2 fallback=-2*2\n",
        BEGIN "wanted=1*2 own=0*2 fallback=-1*2 \n",
        BEGIN "wanted=1*2 own=0*2\n",
    };
    struct engine_fixture f = {.what = "damage"};
    struct engine e;
    (void)state;
    engine_fixture_build(&f, "0 | 1");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct engine_replay r = start_replay(&f, &e);
        struct err err = {0};
        assert_int_equal(engine_replay_text(&r, ENGINE "paused\n", &err), 0);
        if (engine_replay_text(&r, texts[i], &err) == 0)
            fail_msg("replayed: %s", texts[i]);
        assert_int_equal(r.sections, 1);
        assert_true(e.paused);
        end_replay(&r);
    }
    engine_fixture_drop(&f);
}

static void test_sections_follow_each_other(void **state)
{
    struct engine_fixture f = {.what = "sections"};
    struct engine e;
    struct err err = {0};
    (void)state;
    engine_fixture_build(&f, "0 | 1");
    struct engine_replay r = start_replay(&f, &e);
    assert_int_equal(engine_replay_text(&r, "paused\n", &err), -1);
    assert_int_equal(r.sections, 0);
    assert_int_equal(engine_replay_text(&r, ENGINE "paused\nfinished task=0\n", &err), 0);
    assert_int_equal(r.refused, 1);
    assert_int_equal(r.actions.list.n, 1);
    assert_int_equal(engine_replay_text(&r, ENGINE "starts-next\n", &err), 0);
    assert_int_equal(r.sections, 2);
    assert_false(e.paused);
    assert_int_equal(r.actions.list.n, 1);
    assert_int_equal(r.actions.list.v[0].kind, DO_START);
    end_replay(&r);
    engine_fixture_drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_section_begins_with_the_set_up),
        cmocka_unit_test(test_idle_questions_leave_no_line),
        cmocka_unit_test(test_other_text_is_refused),
        cmocka_unit_test(test_sections_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
