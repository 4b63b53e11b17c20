/* Lanes over whole histories: what closes and opens them, and which task starts when. */
#include "plan/engine/limits/lanes.h"

#include "base/mem.h"
#include "plan/engine/attempt/retry.h"
#include "plan_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TASKS = 4, LANES = 2 };

struct fixture {
    struct built b;
    struct plan plan;
    struct graph g;
    struct claims claims;
    struct problems ps;
    struct sched s;
    struct lanes l;
    const char *what;
};

/* Tasks that depend on nothing; all use lane 0, with lane 1 as their fallback, or none (-1). */
static void build(struct fixture *f, int32_t fallback)
{
    struct claim_scope scope = {"", false};
    built_init(&f->b);
    for (uint32_t t = 0; t < TASKS; t++)
        built_task(&f->b);
    problems_init(&f->ps, "plan");
    assert_int_equal(plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps), 0);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    claims_init(&f->claims, &f->plan, &scope, &f->ps);
    sched_init(&f->s, &f->plan, &f->g, &f->claims, TASKS, NULL);
    lanes_init(&f->l, &f->s, LANES);
    for (uint32_t t = 0; t < TASKS; t++)
        lanes_assign(&f->l, t, 0, fallback);
}

static void drop(struct fixture *f)
{
    lanes_done(&f->l);
    sched_done(&f->s);
    claims_done(&f->claims);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

/* The number of the task that starts, or -1. */
static int64_t start_task(struct fixture *f, const int64_t *args)
{
    uint32_t task;
    (void)args;
    if (!sched_next(&f->s, &task))
        return -1;
    lanes_enter(&f->l, task);
    return task;
}

static int64_t get_until(const struct fixture *f, int64_t task, bool closed)
{
    return closed ? f->l.list[f->l.used[task]].until : -1;
}

static int64_t meet_limit(struct fixture *f, const int64_t *args)
{
    return get_until(f, args[0],
                     lanes_meet_limit(&f->l, (uint32_t)args[0], args[2], args[1], RETRY_MIDDLE));
}

static int64_t recall_lane(struct fixture *f, const int64_t *args)
{
    return get_until(f, args[0], lanes_recall(&f->l, (uint32_t)args[0], args[2], args[1]));
}

static int64_t prove_task(struct fixture *f, const int64_t *args)
{
    return lanes_prove(&f->l, (uint32_t)args[0]);
}

static int64_t park_task(struct fixture *f, const int64_t *args)
{
    lanes_leave(&f->l, (uint32_t)args[0]);
    sched_set_aside(&f->s, (uint32_t)args[0]);
    sched_ready(&f->s, (uint32_t)args[0]);
    return 0;
}

static int64_t end_task(struct fixture *f, const int64_t *args)
{
    lanes_leave(&f->l, (uint32_t)args[0]);
    sched_finish(&f->s, (uint32_t)args[0]);
    return 0;
}

static int64_t skip_task(struct fixture *f, const int64_t *args)
{
    struct sched_list skipped = {0};
    sched_fail(&f->s, (uint32_t)args[0], &skipped);
    vec_done(&skipped.tasks);
    return 0;
}

static int64_t hold_task(struct fixture *f, const int64_t *args)
{
    sched_hold(&f->s, (uint32_t)args[0]);
    return 0;
}

static int64_t fall_back(struct fixture *f, const int64_t *args)
{
    return lanes_fall_back(&f->l, (uint32_t)args[0], (int32_t)args[1]);
}

static int64_t keep_lane(struct fixture *f, const int64_t *args)
{
    lanes_keep(&f->l, (uint32_t)args[0]);
    return 0;
}

static int64_t set_lanes(struct fixture *f, const int64_t *args)
{
    sched_set_lanes(&f->s, (uint32_t)args[0], (int32_t)args[1], (int32_t)args[2]);
    return 0;
}

static int64_t wake_lane(struct fixture *f, const int64_t *args)
{
    lanes_wake(&f->l, (int32_t)args[0], args[1]);
    return lanes_wake_after(&f->l, (int32_t)args[0], args[1], RETRY_MIDDLE);
}

static int64_t get_lane(struct fixture *f, const int64_t *args)
{
    return f->l.used[args[0]];
}

/* The words of a history, with the result that follows "=", 0 without it. */
static const struct {
    const char *word;
    int64_t (*carry_out)(struct fixture *f, const int64_t *args);
} verbs[] = {
    {"start", start_task},   /* = TASK, -1 if none may start */
    {"limit", meet_limit},   /* TASK NOW RESET = UNTIL, -1 if it does not close the lane */
    {"recall", recall_lane}, /* TASK NOW UNTIL = UNTIL, the same */
    {"prove", prove_task},   /* TASK = 1 if the limit is over */
    {"park", park_task},     /* TASK: its attempt ends, and it waits */
    {"end", end_task},       /* TASK */
    {"skip", skip_task},     /* TASK, which has not started */
    {"hold", hold_task},     /* TASK, the same */
    {"fall", fall_back},     /* TASK LANE = 1 if it may */
    {"keep", keep_lane},     /* TASK */
    {"lanes", set_lanes},    /* TASK LANE SPARE: only these, in the scheduler */
    {"wake", wake_lane},     /* LANE NOW = ms until the next time, or -1 */
    {"lane", get_lane},      /* TASK = LANE that it uses */
};

static const char *const state_words[] = {"open", "closed", "tried", "followed"};

static void carry_out(struct fixture *f, char *step)
{
    const char *equals = strchr(step, '=');
    int64_t args[3], expected = equals ? strtoll(equals + 1, NULL, 10) : 0;
    size_t word_len = strcspn(step, " ");
    char *at = step + word_len;
    for (size_t i = 0; i < ARRAY_LEN(state_words); i++) {
        if (strcmp(step, state_words[i]) == 0 && f->l.list[0].state == (enum lane_state)i)
            return;
    }
    for (size_t i = 0; i < ARRAY_LEN(args); i++)
        args[i] = strtoll(at, &at, 10); /* 0 if no number follows */
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strlen(verbs[i].word) != word_len || strncmp(step, verbs[i].word, word_len) != 0)
            continue;
        int64_t got = verbs[i].carry_out(f, args);
        if (got != expected)
            fail_msg("%s: %s: %lld", f->what, step, (long long)got);
        return;
    }
    fail_msg("%s: not %s", f->what, step);
}

static const struct {
    const char *what;
    int32_t fallback;
    const char *steps;
} histories[] = {
    {"a reset is waited for; one goes first, the others follow one by one", -1,
     "start = 0; limit 0 1000 61000 = 62000; closed; park 0; start = -1;"
     "wake 0 1000 = 30000; wake 0 31000 = 30000; start = -1; wake 0 61000 = 1000; closed;"
     "wake 0 62000 = -1; tried; start = 0; start = -1; prove 0 = 1; followed; start = -1;"
     "wake 0 62500 = 500; start = 1; start = -1; wake 0 63000 = 500; start = 2; start = -1;"
     "wake 0 63500 = 500; start = 3; followed; wake 0 64000 = -1; open; wake 0 65000 = -1; open"},
    {"nobody else waits", -1,
     "start = 0; start = 1; start = 2; start = 3; limit 0 0 1000 = 2000; park 0; end 1; end 2;"
     "end 3; wake 0 2000 = -1; start = 0; prove 0 = 1; wake 0 2500 = -1; open"},
    {"a late timer", -1,
     "start = 0; limit 0 0 1000 = 2000; park 0; wake 0 9999999 = -1; start = 0"},
    {"tasks start freely when the lane is open again", -1,
     "start = 0; limit 0 0 1000 = 2000; end 0; wake 0 2000 = -1; start = 1; start = -1;"
     "prove 1 = 1; wake 0 2500 = 500; start = 2; wake 0 3000 = 500; start = 3; wake 0 3500 = -1;"
     "open; park 2; park 1; start = 1; start = 2; prove 1 = 0; open"},

    {"pauses before an unknown reset double", -1,
     "start = 0; limit 0 0 0 = 30000; park 0; wake 0 30000 = -1;"
     "start = 0; limit 0 30000 0 = 90000; park 0; start = -1; wake 0 90000 = -1;"
     "start = 0; limit 0 90000 0 = 210000; park 0; wake 0 210000 = -1;"
     "start = 0; limit 0 210000 0 = 450000; park 0; wake 0 450000 = -1;"
     "start = 0; limit 0 450000 0 = 750000; park 0; wake 0 750000 = -1;"
     "start = 0; limit 0 750000 0 = 1050000"},
    {"... until the limit is over", -1,
     "start = 0; limit 0 0 0 = 30000; park 0; wake 0 30000 = -1; start = 0; limit 0 30000 0 = "
     "90000;"
     "park 0; wake 0 90000 = -1; start = 0; prove 0 = 1; limit 0 90000 0 = 120000; closed"},
    {"... and a known reset between them does not count", -1,
     "start = 0; limit 0 0 0 = 30000; park 0; wake 0 30000 = -1; start = 0;"
     "limit 0 30000 40000 = 41000; park 0; wake 0 41000 = -1; start = 0; limit 0 41000 0 = 101000"},
    {"a reset in the past is unknown", -1, "start = 0; limit 0 50000 49000 = 80000"},
    {"a reset right now is unknown", -1, "start = 0; limit 0 50000 50000 = 80000"},

    {"the probe meets the limit again", -1,
     "start = 0; limit 0 0 1000 = 2000; park 0; wake 0 2000 = -1; start = 0;"
     "limit 0 3000 9000 = 10000; closed; park 0; closed; start = -1; prove 0 = 0;"
     "wake 0 10000 = -1; start = 0; prove 0 = 1"},
    {"the probe shows nothing: another one goes first", -1,
     "start = 0; limit 0 0 1000 = 2000; park 0; wake 0 2000 = -1; start = 0; end 0; tried;"
     "start = 1; start = -1; prove 1 = 1; followed"},
    {"the last probe shows nothing: the next task goes first, whenever it comes", -1,
     "start = 0; start = 1; start = 2; start = 3; limit 0 0 1000 = 2000; end 0; end 1; end 2;"
     "wake 0 2000 = -1; tried; park 3; start = 3; start = -1; end 3; tried"},
    {"only the probe shows that the limit is over", -1,
     "start = 0; start = 1; limit 0 0 1000 = 2000; prove 1 = 0; closed; park 0; wake 0 2000 = -1;"
     "prove 1 = 0; start = 0; prove 1 = 0; tried; prove 0 = 1; prove 0 = 0; followed"},
    {"a person skips the task that may go first: another one does", -1,
     "start = 0; limit 0 0 1000 = 2000; park 0; start = -1; wake 0 2000 = -1; skip 0; start = 1;"
     "start = -1; prove 1 = 1"},
    {"... or it waits for something else", -1,
     "start = 0; limit 0 0 1000 = 2000; end 0; wake 0 2000 = -1; hold 1; start = 2; start = -1"},
    {"a task that only lands does not go first, and shows nothing", -1,
     "start = 0; limit 0 0 1000 = 2000; end 0; lanes 1 -1 -1; wake 0 2000 = -1; start = 1;"
     "prove 1 = 0; tried; start = 2; start = -1; end 1; prove 2 = 1"},
    {"an attempt from before the limit ends while the probe runs", -1,
     "start = 0; start = 1; limit 0 0 1000 = 2000; park 0; wake 0 2000 = -1; start = 0; end 1;"
     "tried; start = -1; prove 0 = 1"},
    {"an attempt from before the limit meets it while the probe runs", -1,
     "start = 0; start = 1; limit 0 0 1000 = 2000; park 0; wake 0 2000 = -1; start = 0;"
     "limit 1 2500 8000 = 9000; closed; prove 0 = 0; park 1; park 0; start = -1;"
     "wake 0 9000 = -1; start = 0"},
    {"a task that follows meets it again", -1,
     "start = 0; limit 0 0 1000 = 2000; park 0; wake 0 2000 = -1; start = 0; start = -1;"
     "prove 0 = 1; wake 0 2500 = 500; start = 1; limit 1 2600 5000 = 6000; closed;"
     "wake 0 3000 = 3000; start = -1; park 1; wake 0 6000 = -1; start = 1; start = -1"},

    {"two attempts meet it together", -1,
     "start = 0; start = 1; limit 0 0 10000 = 11000; limit 1 5 10000 = -1; park 0; park 1;"
     "start = -1; wake 0 11000 = -1; start = 0; start = -1; prove 0 = 1; wake 0 11500 = 500;"
     "start = 1"},
    {"... and one does not know the reset", -1,
     "start = 0; start = 1; limit 0 0 10000 = 11000; limit 1 5 0 = -1; closed"},
    {"... and both do not", -1,
     "start = 0; start = 1; limit 0 0 0 = 30000; limit 1 5 0 = -1; park 0; park 1;"
     "wake 0 30000 = -1; start = 0; limit 0 30000 0 = 90000"},
    {"... and the later reset is believed", -1,
     "start = 0; start = 1; start = 2; limit 0 0 10000 = 11000; limit 1 5 20000 = 21000;"
     "limit 2 6 15000 = -1; park 0; park 1; park 2; wake 0 11000 = 10000; closed;"
     "wake 0 21000 = -1; tried"},
    {"... and the reset comes after an unknown one", -1,
     "start = 0; start = 1; limit 0 0 0 = 30000; limit 1 5 40000 = 41000"},
    {"a limit after the pause, before the timer", -1,
     "start = 0; start = 1; limit 0 0 1000 = 2000; limit 1 2000 0 = 32000; closed"},

    {"a closed lane has a fallback for tasks that have not started", 1,
     "start = 0; limit 0 0 10000 = 11000; park 0; lane 0 = 0; start = 0; lane 0 = 1; start = 1;"
     "lane 1 = 1; wake 0 11000 = -1; start = 2; lane 2 = 0; start = 3; lane 3 = 1; prove 2 = 1"},
    {"a task falls back, for good", 1,
     "start = 0; fall 0 1 = 1; limit 0 0 10000 = 11000; end 1; end 2; end 3; park 0; start = 0;"
     "lane 0 = 1; wake 0 11000 = -1; tried; park 0; start = 0; lane 0 = 1; tried"},
    {"... and meets a limit there", 1,
     "start = 0; end 1; end 2; end 3; fall 0 1 = 1; limit 0 0 10000 = 11000; park 0; start = 0;"
     "limit 0 5 20000 = 21000; fall 0 1 = 0; park 0; start = -1; wake 0 11000 = -1; start = -1;"
     "wake 1 21000 = -1; start = 0; lane 0 = 1; prove 0 = 1"},
    {"... but not to a closed lane", 1,
     "start = 0; start = 1; fall 0 1 = 1; limit 0 0 9000 = 10000; park 0; start = 0;"
     "limit 0 5 20000 = 21000; fall 1 1 = 0; limit 1 5 0 = -1; park 1; start = -1;"
     "wake 0 10000 = -1; start = 1; lane 1 = 0"},
    {"... and may to one that is tried", 1,
     "start = 0; start = 1; fall 0 1 = 1; limit 0 0 9000 = 10000; park 0; start = 0;"
     "limit 0 5 6000 = 7000; wake 1 7000 = -1; fall 1 1 = 1; end 0; end 2; end 3; park 1;"
     "start = 1; lane 1 = 1; prove 1 = 1"},
    {"a probe falls back: another one goes first", 1,
     "start = 0; limit 0 0 1000 = 2000; keep 0; end 1; park 0; start = 2; start = 3;"
     "wake 0 2000 = -1; start = 0; tried; fall 0 1 = 1; park 0; tried; start = 0; lane 0 = 1; "
     "tried"},
    {"no fallback", -1, "start = 0; fall 0 -1 = 0"},
    {"a session keeps its lane, even if it is closed", 1,
     "start = 0; limit 0 0 1000 = 2000; end 1; end 2; end 3; keep 0; park 0; start = -1;"
     "wake 0 2000 = -1; start = 0; lane 0 = 0"},
    {"a session keeps the fallback, even if the other lane is open", 1,
     "start = 0; limit 0 0 1000 = 2000; end 1; end 2; end 3; park 0; start = 0; lane 0 = 1; keep 0;"
     "limit 0 0 8000 = 9000; park 0; wake 0 2000 = -1; start = -1; wake 1 9000 = -1; start = 0;"
     "lane 0 = 1"},

    {"a dead engine's lanes close again, until the latest time", -1,
     "recall 0 1000 5000 = 5000; recall 1 1000 4000 = -1; recall 2 1000 7000 = 7000;"
     "recall 3 1000 7000 = -1; closed; start = -1; wake 0 7000 = -1; start = 0; start = -1;"
     "prove 0 = 1; wake 0 7500 = 500"},
    {"... unless the time is over", -1,
     "recall 0 1000 1000 = -1; recall 0 1000 500 = -1; open; start = 0"},
    {"... with a limit that resets later", -1,
     "lanes 0 -1 -1; recall 1 1000 5000 = 5000; start = 0; limit 0 1000 9000 = 10000"},
    {"a task that only lands again starts in a closed lane", 1,
     "recall 0 1000 5000 = 5000; recall 1 1000 5000 = -1; lanes 0 -1 -1; keep 1; keep 2; keep 3;"
     "start = 0; lanes 0 0 1; lane 0 = 0; start = -1; end 0; closed"},
};

static void each_history_goes_its_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(histories); i++) {
        struct fixture f = {.what = histories[i].what};
        char *steps = mem_str(histories[i].steps), *rest = NULL;
        build(&f, histories[i].fallback);
        for (char *step = strtok_r(steps, ";", &rest); step; step = strtok_r(NULL, ";", &rest))
            carry_out(&f, step + strspn(step, " "));
        free(steps);
        drop(&f);
    }
}

static void starts_are_spread(void **state)
{
    static const struct {
        uint32_t random;
        int64_t known, unknown, follow; /* ms */
    } cases[] = {{0, 5750, 22500, 375}, {RETRY_MIDDLE, 6000, 30000, 500}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f = {0};
        uint32_t random = cases[i].random;
        build(&f, -1);
        assert_int_equal(start_task(&f, NULL), 0);
        assert_true(lanes_meet_limit(&f.l, 0, 5000, 0, random));
        assert_int_equal(f.l.list[0].until, cases[i].known);
        assert_true(lanes_meet_limit(&f.l, 0, 0, 10000, random));
        assert_int_equal(f.l.list[0].until - 10000, cases[i].unknown);
        assert_int_equal(lanes_wake_after(&f.l, 0, 39000, random),
                         f.l.list[0].until > 39000 ? f.l.list[0].until - 39000 : 0);
        lanes_wake(&f.l, 0, 60000);
        lanes_leave(&f.l, 0);
        lanes_enter(&f.l, 0);
        assert_true(lanes_prove(&f.l, 0));
        assert_int_equal(lanes_wake_after(&f.l, 0, 60000, random), cases[i].follow);
        drop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_history_goes_its_way),
        cmocka_unit_test(starts_are_spread),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
