#include "plan/schedule/graph.h"
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
    struct problems ps;
};

static int build(struct fixture *f)
{
    problems_init(&f->ps, "plan");
    assert_int_equal(plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps), 0);
    return graph_init(&f->g, &f->plan, &f->ps);
}

static void drop(struct fixture *f)
{
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

/* A small repeatable generator; tests print nothing that depends on anything else. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void diamond_has_three_stages(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    built_task(&f.b);
    built_depend(&f.b, built_task(&f.b), 0);
    struct node *slow = built_task(&f.b);
    built_depend(&f.b, slow, 0);
    built_put(&f.b, slow, "estimate", built_text(&f.b, "90s"));
    struct node *last = built_task(&f.b);
    built_depend(&f.b, last, 1);
    built_depend(&f.b, last, 2);
    built_put(&f.b, last, "estimate", built_text(&f.b, "30s"));
    assert_int_equal(build(&f), 0);
    assert_int_equal(f.g.stages, 3);
    assert_int_equal(f.g.width, 2);
    assert_int_equal(f.g.stage[3], 2);
    assert_true(f.g.estimated);
    assert_int_equal(f.g.weight_default, 60000); /* the mean of 90 s and 30 s */
    assert_int_equal(f.g.critical, 180000);      /* 0, 2, 3 */
    assert_int_equal(f.g.total, 240000);
    assert_int_equal(f.g.critical_len, 3);
    assert_int_equal(f.g.critical_path[1], 2);
    drop(&f);
}

static void dependencies_come_first_in_the_order(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    for (size_t i = 0; i < 50; i++) {
        struct node *task = built_task(&f.b);
        if (i + 1 < 50)
            built_depend(&f.b, task, i + 1); /* the file lists dependants first */
    }
    assert_int_equal(build(&f), 0);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(f.g.order[i], 49 - i);
    assert_int_equal(f.g.stages, 50);
    drop(&f);
}

static void cycles_are_each_reported_once(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    struct node *t[6];
    for (size_t i = 0; i < 6; i++)
        t[i] = built_task(&f.b);
    built_depend(&f.b, t[0], 1);
    built_depend(&f.b, t[1], 0);
    built_depend(&f.b, t[2], 0); /* leads to a cycle, is in none */
    built_depend(&f.b, t[3], 4);
    built_depend(&f.b, t[4], 5);
    built_depend(&f.b, t[5], 3);
    assert_int_equal(build(&f), -1);
    assert_int_equal(f.ps.errors, 2);
    assert_string_equal(f.ps.list.v[0].message, "these tasks depend on each other: 0 -> 1 -> 0");
    assert_string_equal(f.ps.list.v[1].message,
                        "these tasks depend on each other: 3 -> 4 -> 5 -> 3");
    drop(&f);
}

/* PO-26: a long chain must not need a deep stack. */
static void a_chain_of_100000_is_no_recursion(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    for (size_t i = 0; i < 100000; i++) {
        struct node *task = built_task(&f.b);
        if (i)
            built_depend(&f.b, task, i - 1);
    }
    assert_int_equal(build(&f), 0);
    assert_int_equal(f.g.stages, 100000);
    assert_true(graph_reaches(&f.g, 0, 99999));
    assert_false(graph_reaches(&f.g, 99999, 0));
    drop(&f);
}

/* Against the plain transitive closure, on many random graphs. */
static void reachability_agrees_with_the_closure(void **state)
{
    (void)state;
    enum { N = 40, GRAPHS = 300 };
    uint64_t seed = 7;
    for (int k = 0; k < GRAPHS; k++) {
        struct fixture f = {0};
        static bool closure[N][N];
        memset(closure, 0, sizeof(closure));
        built_init(&f.b);
        for (size_t i = 0; i < N; i++) {
            struct node *task = built_task(&f.b);
            for (size_t d = 0; d < i; d++) {
                if (next_random(&seed) % 100 >= (unsigned)(k % 20))
                    continue;
                built_depend(&f.b, task, d);
                closure[d][i] = true;
                for (size_t a = 0; a < d; a++)
                    closure[a][i] = closure[a][i] || closure[a][d];
            }
        }
        assert_int_equal(build(&f), 0);
        for (uint32_t a = 0; a < N; a++) {
            for (uint32_t b = 0; b < N; b++)
                assert_int_equal(graph_reaches(&f.g, a, b), closure[a][b]);
        }
        drop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diamond_has_three_stages),
        cmocka_unit_test(dependencies_come_first_in_the_order),
        cmocka_unit_test(cycles_are_each_reported_once),
        cmocka_unit_test(a_chain_of_100000_is_no_recursion),
        cmocka_unit_test(reachability_agrees_with_the_closure),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
