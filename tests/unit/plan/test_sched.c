#include "base/mem.h"
#include "plan/schedule/sched.h"
#include "plan_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct built b;
    struct plan plan;
    struct graph g;
    struct claims claims;
    struct problems ps;
    struct sched s;
};

static void build(struct fixture *f, size_t workers, const bool *wanted)
{
    struct claim_scope scope = {"", false};
    problems_init(&f->ps, "plan");
    if (plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps))
        fail_msg("%s", f->ps.list.v[0].message);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    claims_init(&f->claims, &f->plan, &scope, &f->ps);
    sched_init(&f->s, &f->plan, &f->g, &f->claims, workers, wanted);
}

static void assert_next(struct fixture *f, uint32_t task)
{
    uint32_t next;
    assert_true(sched_next(&f->s, &next));
    assert_int_equal(next, task);
}

static void drop(struct fixture *f)
{
    sched_done(&f->s);
    claims_done(&f->claims);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

static void add_group(struct fixture *f, const char *name, int64_t limit)
{
    struct pos pos = {1, 1};
    struct node *limits = node_get(f->b.root, "limits");
    if (!limits) {
        limits = node_new(&f->b.arena, NODE_MAP, pos);
        built_put(&f->b, f->b.root, "limits", limits);
        built_put(&f->b, limits, "groups", node_new(&f->b.arena, NODE_MAP, pos));
    }
    struct node *n = node_new(&f->b.arena, NODE_INT, pos);
    n->integer = limit;
    n->text = "n";
    n->len = 1;
    built_put(&f->b, node_get(limits, "groups"), name, n);
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void the_longest_way_goes_first(void **state)
{
    (void)state;
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    built_task(&f.b);                        /* 0: nothing follows */
    built_task(&f.b);                        /* 1: a chain of two follows */
    built_depend(&f.b, built_task(&f.b), 1); /* 2 */
    built_depend(&f.b, built_task(&f.b), 2); /* 3 */
    build(&f, 1, NULL);
    assert_next(&f, 1);
    assert_false(sched_next(&f.s, &t)); /* one worker */
    sched_finish(&f.s, 1);
    assert_next(&f, 2);
    drop(&f);
}

static void failure_skips_what_depends_on_it(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct sched_list skipped = {0};
    built_init(&f.b);
    for (size_t i = 0; i < 4; i++) {
        struct node *task = built_task(&f.b);
        if (i)
            built_depend(&f.b, task, i - 1);
    }
    built_task(&f.b);
    build(&f, 8, NULL);
    assert_next(&f, 0);
    sched_fail(&f.s, 0, &skipped);
    assert_int_equal(skipped.tasks.n, 3);
    assert_int_equal(skipped.tasks.v[0], 1);
    assert_int_equal(skipped.tasks.v[2], 3);
    assert_next(&f, 4);
    sched_finish(&f.s, 4);
    assert_int_equal(f.s.left, 0);
    sched_fail(&f.s, 2, &skipped); /* has failed already */
    sched_fail(&f.s, 4, &skipped); /* is done */
    assert_int_equal(f.s.left, 0);
    assert_int_equal(skipped.tasks.n, 3);
    vec_done(&skipped.tasks);
    drop(&f);
}

/* 0 is needed by 1 and 2, these by 3; 3 and 5 by 4; 6 needs 0, and nobody wants it. */
static void what_failed_is_taken_back_with_what_was_skipped_for_it(void **state)
{
    (void)state;
    static const uint32_t edges[][2] = {{1, 0}, {2, 0}, {3, 1}, {3, 2}, {4, 3}, {4, 5}, {6, 0}};
    struct fixture f = {0};
    struct sched_list skipped = {0}, freed = {0};
    struct node *tasks[7];
    uint32_t t, need;
    built_init(&f.b);
    for (size_t i = 0; i < 7; i++)
        tasks[i] = built_task(&f.b);
    for (size_t i = 0; i < ARRAY_LEN(edges); i++)
        built_depend(&f.b, tasks[edges[i][0]], edges[i][1]);
    build(&f, 8, NULL);
    while (sched_next(&f.s, &t))
        ;
    sched_fail(&f.s, 6, &skipped); /* a person skips it */
    assert_int_equal(skipped.tasks.n, 0);
    sched_fail(&f.s, 0, &skipped);
    assert_int_equal(skipped.tasks.n, 4);
    sched_fail(&f.s, 5, &skipped);
    assert_int_equal(f.s.left, 0);
    assert_true(sched_lacks(&f.s, 4, &need));
    sched_take_back(&f.s, 3, &freed); /* was skipped: that is not its own to say */
    assert_int_equal(f.s.left, 0);

    sched_take_back(&f.s, 0, &freed);
    assert_int_equal(freed.tasks.n, 3); /* not 4, which needs 5 as well, nor 6 */
    assert_int_equal(freed.tasks.v[2], 3);
    assert_int_equal(f.s.left, 4);
    assert_false(sched_lacks(&f.s, 3, &need));
    assert_false(sched_next(&f.s, &t)); /* it is aside */
    sched_ready(&f.s, 0);
    assert_next(&f, 0);
    sched_take_back(&f.s, 5, &freed); /* while 3 is on its way */
    assert_int_equal(freed.tasks.n, 4);
    assert_int_equal(freed.tasks.v[3], 4);
    sched_ready(&f.s, 5);
    sched_finish(&f.s, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(sched_next(&f.s, &t));
        sched_finish(&f.s, t);
    }
    assert_next(&f, 3);
    sched_finish(&f.s, 5);
    sched_fail(&f.s, 3, &skipped); /* again, and what follows it with it */
    assert_int_equal(f.s.left, 0);
    assert_int_equal(skipped.tasks.v[skipped.tasks.n - 1], 4);
    vec_done(&skipped.tasks);
    vec_done(&freed.tasks);
    drop(&f);
}

static void unwanted_tasks_count_as_done(void **state)
{
    (void)state;
    static const bool wanted[] = {false, true};
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    built_task(&f.b);
    built_depend(&f.b, built_task(&f.b), 0);
    build(&f, 2, wanted);
    assert_int_equal(f.s.left, 1);
    assert_next(&f, 1);
    assert_false(sched_next(&f.s, &t));
    drop(&f);
}

/* PO-37: what waits for its group leaves the worker to others. */
static void a_full_group_holds_no_worker(void **state)
{
    (void)state;
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    add_group(&f, "api", 1);
    for (int i = 0; i < 3; i++)
        built_put(&f.b, built_task(&f.b), "group", built_text(&f.b, "api"));
    built_task(&f.b);
    build(&f, 2, NULL);
    assert_next(&f, 0);
    assert_next(&f, 3);
    sched_set_aside(&f.s, 0); /* a retry: the place in the group is free meanwhile */
    assert_next(&f, 1);
    sched_ready(&f.s, 0);
    sched_finish(&f.s, 3);
    assert_false(sched_next(&f.s, &t));
    sched_finish(&f.s, 1);
    assert_true(sched_next(&f.s, &t));
    drop(&f);
}

/* A task that may try its full group's place, and then does not start, leaves it to the next one.
 */
static void a_place_in_a_group_is_passed_on(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct sched_list skipped = {0};
    uint32_t t;
    built_init(&f.b);
    add_group(&f, "api", 1);
    for (int i = 0; i < 5; i++)
        built_put(&f.b, built_task(&f.b), "group", built_text(&f.b, "api"));
    build(&f, 5, NULL);
    assert_next(&f, 0);
    assert_false(sched_next(&f.s, &t)); /* the others wait for the group */
    sched_finish(&f.s, 0);
    sched_fail(&f.s, 1, &skipped); /* a person skips the first of them */
    assert_next(&f, 2);
    assert_false(sched_next(&f.s, &t));
    sched_set_aside(&f.s, 2);
    sched_hold(&f.s, 3);
    assert_next(&f, 4);
    vec_done(&skipped.tasks);
    drop(&f);
}

/* One that is held is passed over, whether its dependencies are done or not, until it is ready. */
static void a_held_task_waits(void **state)
{
    (void)state;
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    built_task(&f.b);                        /* 0 */
    built_depend(&f.b, built_task(&f.b), 0); /* 1 */
    built_task(&f.b);                        /* 2 */
    build(&f, 3, NULL);
    sched_hold(&f.s, 0);
    sched_hold(&f.s, 1);
    assert_next(&f, 2);
    assert_false(sched_next(&f.s, &t));
    sched_ready(&f.s, 1); /* it still needs the other one */
    assert_false(sched_next(&f.s, &t));
    sched_ready(&f.s, 0);
    assert_next(&f, 0);
    assert_false(sched_next(&f.s, &t));
    sched_finish(&f.s, 0);
    assert_next(&f, 1);
    assert_false(sched_next(&f.s, &t));
    drop(&f);
}

/* A task that waits for a lane holds neither a worker nor a place in its group; one task tries
 * first. */
static void a_closed_lane_waits(void **state)
{
    (void)state;
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    add_group(&f, "api", 1);
    for (int i = 0; i < 4; i++)
        built_put(&f.b, built_task(&f.b), "group", built_text(&f.b, "api"));
    build(&f, 1, NULL);
    sched_make_lanes(&f.s, 2);
    for (uint32_t i = 0; i < 3; i++)
        sched_set_lanes(&f.s, i, 0, -1);
    sched_set_lanes(&f.s, 3, 1, -1);
    sched_close(&f.s, 0);
    assert_false(sched_is_waited_for(&f.s, 0)); /* nobody asked yet */
    assert_next(&f, 3);
    sched_finish(&f.s, 3);
    assert_false(sched_next(&f.s, &t));
    assert_true(sched_is_waited_for(&f.s, 0));
    sched_open(&f.s, 0, true);
    assert_next(&f, 0);
    sched_set_aside(&f.s, 0); /* it has met the limit again */
    sched_close(&f.s, 0);
    sched_ready(&f.s, 0);
    assert_false(sched_next(&f.s, &t));
    sched_open(&f.s, 0, true);
    assert_true(sched_next(&f.s, &t));
    sched_finish(&f.s, t);
    assert_false(sched_next(&f.s, &t)); /* the others have to wait for more */
    sched_open(&f.s, 0, false);
    assert_true(sched_next(&f.s, &t));
    sched_finish(&f.s, t);
    assert_true(sched_next(&f.s, &t));
    sched_finish(&f.s, t);
    assert_int_equal(f.s.left, 0);
    drop(&f);
}

/* A task with two lanes goes by the second while the first is closed, and by whichever opens first.
 */
static void a_spare_lane_is_taken(void **state)
{
    (void)state;
    struct fixture f = {0};
    uint32_t t;
    built_init(&f.b);
    for (int i = 0; i < 3; i++)
        built_task(&f.b);
    build(&f, 3, NULL);
    sched_make_lanes(&f.s, 2);
    sched_set_lanes(&f.s, 0, 0, 1);
    sched_set_lanes(&f.s, 1, 0, 1);
    sched_set_lanes(&f.s, 2, 0, -1);
    sched_close(&f.s, 0);
    assert_next(&f, 0);
    assert_int_equal(f.s.via[0], 1);
    sched_close(&f.s, 1);
    assert_false(sched_next(&f.s, &t));
    sched_open(&f.s, 1, false);
    assert_next(&f, 1);
    assert_int_equal(f.s.via[1], 1);
    assert_false(sched_next(&f.s, &t));
    sched_open(&f.s, 0, false); /* where the second task waited as well */
    assert_next(&f, 2);
    assert_int_equal(f.s.via[2], 0);
    assert_false(sched_next(&f.s, &t));
    drop(&f);
}

/* Random plans whose lanes are closed and opened at random: nothing starts in a closed one but the
 * one task that may, and all come to their end. */
static void random_lanes_end_and_keep_the_rules(void **state)
{
    (void)state;
    enum { N = 30, PLANS = 400, LANES = 3 };
    uint64_t seed = 5;
    for (int k = 0; k < PLANS; k++) {
        static const char *const paths[] = {"a/", "a/x", "b/", "c/"};
        struct fixture f = {0};
        bool closed[LANES] = {0};
        int room[LANES] = {0};
        built_init(&f.b);
        built_put(&f.b, f.b.root, "overlap", built_text(&f.b, "serialise"));
        add_group(&f, "one", 1);
        add_group(&f, "two", 2);
        for (size_t i = 0; i < N; i++) {
            struct node *task = built_task(&f.b);
            if (i && next_random(&seed) % 3 == 0)
                built_depend(&f.b, task, next_random(&seed) % i);
            if (next_random(&seed) % 2)
                built_put(&f.b, task, "group",
                          built_text(&f.b, next_random(&seed) % 2 ? "one" : "two"));
            if (next_random(&seed) % 2)
                built_add(&f.b, task, "owns", paths[next_random(&seed) % 4]);
        }
        build(&f, 1 + next_random(&seed) % 5, NULL);
        sched_make_lanes(&f.s, LANES);
        for (uint32_t i = 0; i < N; i++)
            sched_set_lanes(&f.s, i, (int32_t)(next_random(&seed) % LANES),
                            (int32_t)(next_random(&seed) % (LANES + 1)) - 1);
        uint32_t running[N], n = 0, t;
        while (f.s.left) {
            uint32_t lane = next_random(&seed) % LANES;
            bool closes = next_random(&seed) % 3 == 0, probe = next_random(&seed) % 2;
            if (closes) {
                sched_close(&f.s, (int32_t)lane);
                closed[lane] = true;
                room[lane] = 0;
            } else {
                sched_open(&f.s, (int32_t)lane, probe);
                closed[lane] = closed[lane] && probe;
                room[lane] = 1;
            }
            while (sched_next(&f.s, &t)) {
                int32_t via = f.s.via[t];
                assert_true(via == f.s.lane[t] || via == f.s.spare[t]);
                assert_true(!closed[via] || room[via]-- > 0);
                running[n++] = t;
            }
            assert_true(n <= f.s.workers);
            if (!n) {
                for (int32_t l = 0; l < LANES; l++) {
                    sched_open(&f.s, l, false);
                    closed[l] = false;
                }
                while (sched_next(&f.s, &t))
                    running[n++] = t;
                assert_true(n > 0); /* else it is stuck */
            }
            uint32_t which = next_random(&seed) % n, task = running[which];
            running[which] = running[--n];
            if (next_random(&seed) % 3 == 0) {
                sched_set_aside(&f.s, task);
                sched_ready(&f.s, task);
            } else {
                sched_finish(&f.s, task);
            }
        }
        drop(&f);
    }
}

/* The first bytes of the paths here tell whether they meet. */
static bool shared_patterns_a_path(const struct task *a, const struct task *b)
{
    for (size_t i = 0; i < a->owns.n; i++) {
        for (size_t k = 0; k < b->owns.n; k++) {
            if (a->owns.v[i].text[0] == b->owns.v[k].text[0])
                return true;
        }
    }
    return false;
}

static bool shared_patterns_a_group(const struct task *a, const struct task *b)
{
    return a->group && b->group && strcmp(a->group, b->group) == 0;
}

/* Fails if a task waits although its dependencies are done and its group and its paths have room.
 */
static void assert_none_waits_for_nothing(const struct fixture *f, const uint32_t *running,
                                          uint32_t n)
{
    for (uint32_t t = 0; t < f->plan.task_count && n < f->s.workers; t++) {
        const struct task *task = &f->plan.tasks[t];
        bool waits = f->s.state[t] == SCHED_READY || f->s.state[t] == SCHED_HELD;
        size_t in_group = 0, room = task->group && strcmp(task->group, "two") == 0 ? 2 : 1;
        for (uint32_t i = 0; i < n; i++) {
            const struct task *other = &f->plan.tasks[running[i]];
            in_group += shared_patterns_a_group(task, other);
            waits = waits && !shared_patterns_a_path(task, other) && in_group < room;
        }
        assert_false(waits);
    }
}

/* Random plans with groups and shared paths, run to their end: limits are kept, nothing that shares
 * a path runs together, and it always goes on. */
static void random_plans_end_and_keep_the_rules(void **state)
{
    (void)state;
    enum { N = 30, PLANS = 400 };
    uint64_t seed = 11;
    for (int k = 0; k < PLANS; k++) {
        static const char *const paths[] = {"a/", "a/x", "a/*", "b/", "c/"};
        struct fixture f = {0};
        built_init(&f.b);
        built_put(&f.b, f.b.root, "overlap", built_text(&f.b, "serialise"));
        add_group(&f, "one", 1);
        add_group(&f, "two", 2);
        for (size_t i = 0; i < N; i++) {
            struct node *task = built_task(&f.b);
            if (i && next_random(&seed) % 3 == 0)
                built_depend(&f.b, task, next_random(&seed) % i);
            if (next_random(&seed) % 2)
                built_put(&f.b, task, "group",
                          built_text(&f.b, next_random(&seed) % 2 ? "one" : "two"));
            for (uint32_t own = next_random(&seed) % 3; own > 0; own--)
                built_add(&f.b, task, "owns", paths[next_random(&seed) % ARRAY_LEN(paths)]);
        }
        build(&f, 1 + next_random(&seed) % 5, NULL);
        uint32_t running[N], held = N, n = 0, t;
        while (f.s.left) {
            while (sched_next(&f.s, &t)) {
                for (uint32_t i = 0; i < n; i++)
                    assert_false(
                        shared_patterns_a_path(&f.plan.tasks[t], &f.plan.tasks[running[i]]));
                running[n++] = t;
            }
            assert_none_waits_for_nothing(&f, running, n);
            if (held < N) {
                sched_ready(&f.s, held);
                held = N;
                continue;
            }
            if (!f.s.left)
                break;          /* the last ones were skipped */
            assert_true(n > 0); /* else it is stuck */
            assert_true(n <= f.s.workers);
            size_t in[2] = {0};
            for (uint32_t i = 0; i < n; i++) {
                const char *group = f.plan.tasks[running[i]].group;
                in[0] += group && strcmp(group, "one") == 0;
                in[1] += group && strcmp(group, "two") == 0;
            }
            assert_true(in[0] <= 1 && in[1] <= 2);
            uint32_t which = next_random(&seed) % n, waiting = next_random(&seed) % N;
            uint32_t task = running[which];
            running[which] = running[--n];
            struct sched_list skipped = {0};
            if (held == N && f.s.state[waiting] == SCHED_READY) {
                sched_hold(&f.s, waiting);
                held = waiting;
            }
            if (next_random(&seed) % 9 == 0)
                sched_fail(&f.s, task, &skipped);
            vec_done(&skipped.tasks);
            if (next_random(&seed) % 5 == 0) {
                sched_set_aside(&f.s, task);
                sched_ready(&f.s, task);
            } else {
                sched_finish(&f.s, task);
            }
        }
        drop(&f);
    }
}

/* One path for all: with a list of pairs this would take gigabytes and minutes. */
static void one_path_for_all_is_not_quadratic(void **state)
{
    (void)state;
    enum { N = 50000 };
    struct fixture f = {0};
    built_init(&f.b);
    built_put(&f.b, f.b.root, "overlap", built_text(&f.b, "serialise"));
    for (size_t i = 0; i < N; i++)
        built_add(&f.b, built_task(&f.b), "owns", "src/");
    build(&f, 4, NULL);
    for (uint32_t i = 0, t; i < N; i++) {
        assert_next(&f, i);
        assert_false(sched_next(&f.s, &t));
        sched_finish(&f.s, i);
    }
    assert_int_equal(f.s.left, 0);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_way_goes_first),
        cmocka_unit_test(failure_skips_what_depends_on_it),
        cmocka_unit_test(what_failed_is_taken_back_with_what_was_skipped_for_it),
        cmocka_unit_test(unwanted_tasks_count_as_done),
        cmocka_unit_test(a_full_group_holds_no_worker),
        cmocka_unit_test(a_place_in_a_group_is_passed_on),
        cmocka_unit_test(a_held_task_waits),
        cmocka_unit_test(a_closed_lane_waits),
        cmocka_unit_test(a_spare_lane_is_taken),
        cmocka_unit_test(random_lanes_end_and_keep_the_rules),
        cmocka_unit_test(one_path_for_all_is_not_quadratic),
        cmocka_unit_test(random_plans_end_and_keep_the_rules),
    };
    return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
