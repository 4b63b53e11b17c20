/* The queue of tasks that wait to land, and the time of the publications. */
#include "base/mem.h"
#include "plan/engine/landing.h"
#include "plan_build.h"
#include "random.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct built b;
    struct plan plan;
    struct problems ps;
    struct graph g;
    struct landing l;
};

static void put_order(struct built *b, struct node *task, int64_t order)
{
    struct node *n = node_new(&b->arena, NODE_INT, task->pos);
    n->integer = order;
    n->text = "n";
    n->len = 1;
    built_put(b, task, "order", n);
}

/* `orders` has a digit for each task, or '-'. `dependencies` has pairs of digits: in "20" task 2
 * depends on task 0. `wanted` has a 1 for each task of the run; NULL: all. */
static void build(struct fixture *f, const char *orders, const char *dependencies,
                  const char *wanted)
{
    struct node *tasks[16];
    bool is_wanted[16] = {false};
    *f = (struct fixture){0};
    built_init(&f->b);
    problems_init(&f->ps, "plan");
    for (size_t i = 0; orders[i]; i++) {
        tasks[i] = built_task(&f->b);
        is_wanted[i] = wanted && wanted[i] == '1';
        if (orders[i] != '-')
            put_order(&f->b, tasks[i], orders[i] - '0');
    }
    for (const char *d = dependencies; *d; d += d[2] ? 3 : 2)
        built_depend(&f->b, tasks[d[0] - '0'], (size_t)(d[1] - '0'));
    if (plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps))
        fail_msg("%s", f->ps.list.v[0].message);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    landing_init(&f->l, &f->plan, &f->g, wanted ? is_wanted : NULL);
}

static void drop(struct fixture *f)
{
    landing_done(&f->l);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

static char name_of(bool found, const uint32_t *task)
{
    return found ? (char)('0' + *task) : '-';
}

/* Does one step of a history, such as "q2". Returns the digit that the queue answers, or the step's
 * own. */
static char do_step(struct landing *l, const char *step)
{
    uint32_t task = (uint32_t)(step[1] - '0');
    switch (step[0]) {
    case 'q': /* begins to wait */
        landing_queue(l, task);
        break;
    case 'l': /* leaves the queue */
        return name_of(landing_leave(l, task), &task);
    case 'e': /* has ended */
        landing_settle(l, task);
        break;
    case 'r': /* a retry takes that back */
        landing_unsettle(l, task);
        break;
    case 't': /* is at the tip */
        landing_land(l, task);
        break;
    case 'u': /* is taken back from the tip */
        return (char)('0' + landing_undo(l));
    case 'n': /* is the next one to land */
        return name_of(landing_next(l, false, &task), &task);
    case 'a': /* ... in any order */
        return name_of(landing_next(l, true, &task), &task);
    case 'o': /* is awaited by those behind it */
        return name_of(landing_find_open(l, &task), &task);
    default:
        fail_msg("%s", step);
    }
    return step[1];
}

static void tasks_land_in_their_order(void **state)
{
    static const struct {
        const char *what, *orders, *dependencies, *wanted, *history;
    } cases[] = {
        {"nobody waits", "-1", "", NULL, "n- a-"},
        {"first come, first landed", "---", "", NULL, "q2 q0 q1 n2 n0 n1 n-"},
        {"the lowest order lands first", "321", "", NULL, "q0 q1 q2 n2 t2 n1 t1 n0 t0 n- o-"},
        {"a task waits for one that has not come", "12", "", NULL, "q1 n- q0 n0 n- t0 n1"},
        {"... also while that is verified", "12", "", NULL, "q0 q1 n0 n- q0 n0 n- t0 n1"},
        {"... until that has ended", "12", "", NULL, "q1 n- e0 n1"},
        {"equal orders do not wait", "112", "", NULL, "q1 q2 n1 t1 n- q0 n0 t0 n2"},
        {"a task without an order does not wait", "1-", "", NULL, "q1 n1"},
        {"... nor does anybody wait for it", "-1", "", NULL, "q1 n1"},
        {"... and it comes after those with one", "-1", "", NULL, "q0 q1 n1 n0"},
        {"... and passes those that wait", "12-", "", NULL, "q1 q2 n2 n- o0"},

        {"a task has the order of its dependant", "-1", "10", NULL, "q0 o0 n0 o0 t0 o1"},
        {"... if that is lower", "21", "10", NULL, "o0 q0 n0 t0 o1"},
        {"... and not if it is higher", "123", "20", NULL, "q1 n- e0 n1"},
        {"... also through others", "---21", "10 21 42", NULL, "o0 t0 o1 t1 o2 t2 o4 t4 o3"},
        {"of a dependant that does not run as well", "-12", "10", "101", "o0 q2 n- e0 n2"},
        {"nobody waits for a task that does not run", "12", "", "01", "o1 q1 n1"},

        {"the end of the run suspends the order", "21-", "", NULL, "q2 q0 a0 a2 a- n- q1 n1"},
        {"a task leaves the queue", "--", "", NULL, "q0 q1 l0 n1 n- q0 n0"},
        {"... and comes again as the last", "--", "", NULL, "q0 q1 l0 q0 n1 n0 n-"},
        {"... and blocks those behind it", "12", "", NULL, "q0 q1 l0 n- e0 n1"},

        {"a retry blocks those behind it again", "123", "", NULL, "e0 t1 o2 q2 r0 n- o0 t0 n2"},
        {"... and a task that was skipped with it", "1123", "20", NULL,
         "e0 e1 e2 o3 r1 r2 q3 o1 n- t1 o2 n- t2 n3"},
        {"a task that lost its place at the tip blocks again", "12", "", NULL,
         "q0 n0 t0 o1 u0 q1 n- o0 e0 n1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        build(&f, cases[i].orders, cases[i].dependencies, cases[i].wanted);
        for (const char *step = cases[i].history; *step; step += step[2] ? 3 : 2) {
            char got = do_step(&f.l, step);
            if (got != step[1])
                fail_msg("%s: %.2s is %c", cases[i].what, step, got);
        }
        drop(&f);
    }
    struct fixture f;
    build(&f, "-", "", NULL);
    assert_false(landing_leave(&f.l, 0));
    drop(&f);
}

/* Finds the answer of the queue by checking all tasks. */
static bool find_next(const struct fixture *f, bool in_any_order, uint32_t *ret_task)
{
    int64_t open = INT64_MAX;
    bool found = false;
    for (uint32_t t = 0; t < f->g.n; t++) {
        const struct landing_task *task = &f->l.tasks[t];
        if (!in_any_order && !task->settled && task->order < open)
            open = task->order;
    }
    for (uint32_t t = 0; t < f->g.n; t++) {
        const struct landing_task *task = &f->l.tasks[t];
        const struct landing_task *best = found ? &f->l.tasks[*ret_task] : NULL;
        if (!task->arrival || (task->order > open && task->order != INT64_MAX))
            continue;
        if (!best || task->order < best->order ||
            (task->order == best->order && task->arrival < best->arrival))
            *ret_task = t;
        found = true;
    }
    return found;
}

static void live_randomly(struct fixture *f)
{
    uint32_t task = pick((unsigned)f->g.n), expected, got;
    bool any = pick(20) == 0;
    switch (pick(7)) {
    case 0:
    case 1:
        if (!f->l.tasks[task].arrival)
            landing_queue(&f->l, task);
        break;
    case 2:
        landing_settle(&f->l, task);
        break;
    case 3:
        landing_unsettle(&f->l, task);
        break;
    case 4:
        (void)landing_leave(&f->l, task);
        break;
    default:
        if (find_next(f, any, &expected)) {
            assert_true(landing_next(&f->l, any, &got));
            assert_int_equal(got, expected);
        } else {
            assert_false(landing_next(&f->l, any, &got));
        }
    }
}

static void random_histories_keep_the_order(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        char orders[11] = "";
        struct fixture f;
        for (size_t t = 0; t + 1 < sizeof(orders); t++)
            orders[t] = "-1234567"[pick(8)];
        build(&f, orders, "30 41 52 63 74", NULL);
        for (int step = 0; step < 300; step++) {
            size_t waiting = 0;
            live_randomly(&f);
            for (uint32_t t = 0; t < f.g.n; t++)
                waiting += f.l.tasks[t].arrival != 0;
            assert_int_equal(f.l.waiting, waiting);
        }
        drop(&f);
    }
}

/* Task 0 has a dependant, task 2 has none. The last publication took `took` ms and ended at 10,000;
 * -1: there was none. Then `index` bytes are known; 0: nothing is. */
static void a_publication_waits_for_others(void **state)
{
    static const struct {
        const char *what;
        int64_t took, index;
        const char *landed;
        size_t attempts;
        bool stopping;
        int64_t now, expected;
    } cases[] = {
        {"nothing has landed", -1, 0, "", 5, false, 10000, -1},
        {"... and the run stops", -1, 0, "", 5, true, 10000, -1},
        {"the first one starts at once", -1, 0, "2", 5, false, 10000, 0},
        {"... into a small checkout", -1, 20 * (32 << 10), "2", 5, false, 10000, 0},
        {"... not into a large one", -1, 50 * (32 << 10), "2", 5, false, 10000, 500},
        {"... which took longer than its estimate", -1, 50 * (32 << 10), "2", 5, false, 10400, 100},
        {"... nor into a very large one", -1, 1LL << 30, "2", 5, false, 10000, 10000},
        {"... unless a task waits for it", -1, 50 * (32 << 10), "20", 5, false, 10000, 0},
        {"a short pause follows", 0, 0, "2", 5, false, 10000, 200},
        {"... of ten times its time", 30, 0, "2", 5, false, 10000, 300},
        {"... of ten seconds at most", 5000, 0, "2", 5, false, 10000, 10000},
        {"... which is nearly over", 30, 0, "2", 5, false, 10299, 1},
        {"... which is over", 30, 0, "2", 5, false, 10300, 0},
        {"... which is long over", 30, 0, "2", 5, false, 99999, 0},
        {"a dependant waits", 30, 0, "0", 5, false, 10000, 0},
        {"the end of the run waits", 30, 0, "2", 1, false, 10000, 0},
        {"... for both", 30, 0, "23", 2, false, 10000, 0},
        {"the user waits", 30, 0, "2", 5, true, 10000, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        build(&f, "----", "10", NULL);
        assert_true(landing_needs_estimate(&f.l));
        if (cases[i].took >= 0) {
            landing_begin_publication(&f.l, 10000 - cases[i].took);
            landing_end_publication(&f.l, 10000);
            assert_false(landing_needs_estimate(&f.l));
        }
        if (cases[i].index)
            landing_estimate(&f.l, cases[i].index, 10000);
        for (const char *t = cases[i].landed; *t; t++)
            landing_land(&f.l, (uint32_t)(*t - '0'));
        int64_t got = landing_publish_in(&f.l, cases[i].attempts, cases[i].stopping, cases[i].now);
        if (got != cases[i].expected)
            fail_msg("%s: in %d ms", cases[i].what, (int)got);
        drop(&f);
    }
}

static void one_publication_has_all_that_landed(void **state)
{
    struct fixture f;
    (void)state;
    build(&f, "----", "10", NULL);
    landing_estimate(&f.l, 50 * (32 << 10), 10000);
    landing_land(&f.l, 3);
    landing_land(&f.l, 0);
    landing_begin_publication(&f.l, 10000);
    assert_int_equal(f.l.publishing.n, 2);
    assert_int_equal(f.l.publishing.v[0], 3);
    assert_int_equal(f.l.publishing.v[1], 0);
    assert_int_equal(landing_publish_in(&f.l, 5, false, 10000), -1);
    landing_land(&f.l, 2);
    assert_int_equal(landing_publish_in(&f.l, 5, false, 10000), 500);
    assert_int_equal(landing_publish_in(&f.l, 3, false, 10000), 0); /* the end of the run waits */
    landing_end_publication(&f.l, 10010);
    assert_int_equal(f.l.publishing.n, 0);
    assert_int_equal(landing_publish_in(&f.l, 5, false, 10010), 200); /* nobody waits for 2 */
    landing_land(&f.l, 0);
    assert_int_equal(landing_publish_in(&f.l, 5, false, 10010), 0);
    assert_int_equal(landing_undo(&f.l), 0);
    assert_int_equal(landing_publish_in(&f.l, 5, false, 10010), 200);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_land_in_their_order),
        cmocka_unit_test(random_histories_keep_the_order),
        cmocka_unit_test(a_publication_waits_for_others),
        cmocka_unit_test(one_publication_has_all_that_landed),
    };
    return cmocka_run_group_tests_name("landing", tests, NULL, NULL);
}
