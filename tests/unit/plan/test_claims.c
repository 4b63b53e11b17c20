#include "base/mem.h"
#include "plan/schedule/claims.h"
#include "plan_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

struct fixture {
    struct built b;
    struct plan plan;
    struct graph g;
    struct claims claims;
    struct problems ps;
};

static void build(struct fixture *f, const char *prefix, bool fold)
{
    struct claim_scope scope = {prefix, fold};
    problems_init(&f->ps, "plan");
    assert_int_equal(plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps), 0);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    claims_init(&f->claims, &f->plan, &scope, &f->ps);
}

static void drop(struct fixture *f)
{
    claims_done(&f->claims);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
}

static bool count_pair(void *ctx, const struct overlap_pair *pair)
{
    (void)pair;
    ++*(size_t *)ctx;
    return true;
}

static size_t overlaps(struct fixture *f)
{
    size_t n = 0;
    claims_overlaps(&f->claims, &f->g, count_pair, &n);
    return n;
}

/* True if we report an overlap of two tasks with these claims and without an order. */
static bool two_overlap(const char *a, const char *b, bool fold)
{
    struct fixture f = {0};
    built_init(&f.b);
    built_add(&f.b, built_task(&f.b), "owns", a);
    built_add(&f.b, built_task(&f.b), "owns", b);
    build(&f, "", fold);
    assert_int_equal(f.ps.errors, 0);
    size_t n = overlaps(&f);
    drop(&f);
    return n > 0;
}

static void claims_are_normalised_lexically(void **state)
{
    (void)state;
    static const struct {
        const char *text, *prefix, *path;
    } cases[] = {
        {"src", "", "src"},
        {"./src/", "", "src"},
        {"src//a", "", "src/a"},
        {"a/../src", "", "src"},
        {".", "", ""},
        {"./", "", ""},
        {"x", "sub/dir", "sub/dir/x"},
        {"../x", "sub/dir", "sub/x"},
        {"..", "sub", ""},
        {"src/*/", "", "src/*/**"},
        {"a/./b/../c", "", "a/c"},
        {".github", "", ".github"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf struct buf out = BUF_INIT;
        assert_null(claim_normalise(cases[i].text, cases[i].prefix, &out));
        assert_string_equal(out.s, cases[i].path);
    }
}

static void claims_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"/etc", "..",         "a/../..", "*/../x",
                                      ".git", ".git/hooks", ".GIT/x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autobuf struct buf out = BUF_INIT;
        assert_non_null(claim_normalise(bad[i], "", &out));
    }
}

/* PS-4 and PO-52. */
static void overlap_is_seen_however_it_is_written(void **state)
{
    (void)state;
    assert_true(two_overlap("./src", "src", false));
    assert_true(two_overlap(".", "any/thing", false));
    assert_true(two_overlap("a/../src", "src/x.c", false));
    assert_true(two_overlap("src//x", "src/x", false));
    assert_true(two_overlap("src/", "src/x.py", false));
    assert_true(two_overlap("**/*.c", "src/**", false));
    assert_true(two_overlap("src/[a-m]*.c", "src/m?.c", false));
    assert_false(two_overlap("auth", "auth-v2", false));
    assert_false(two_overlap("src/*.c", "src/*.h", false));
    assert_false(two_overlap("src/a*/x", "src/b*/x", false));
    assert_false(two_overlap("Src", "src", false));
    assert_true(two_overlap("Src", "src/x", true));
}

static void ordered_tasks_may_share(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    built_add(&f.b, built_task(&f.b), "owns", "src/");
    built_depend(&f.b, built_task(&f.b), 0);
    struct node *last = built_task(&f.b);
    built_depend(&f.b, last, 1);
    built_add(&f.b, last, "owns", "src/a.c"); /* two steps behind the first */
    build(&f, "", false);
    assert_int_equal(overlaps(&f), 0);
    drop(&f);
}

static void every_unordered_pair_is_found(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    for (int i = 0; i < 4; i++)
        built_add(&f.b, built_task(&f.b), "owns", "src/");
    struct node *after_all = built_task(&f.b);
    built_add(&f.b, after_all, "owns", "src/x");
    for (size_t i = 0; i < 4; i++)
        built_depend(&f.b, after_all, i);
    build(&f, "", false);
    assert_int_equal(overlaps(&f), 6);
    drop(&f);
}

/* Overlaps */

/* Components that fit one another in as many ways as there are. */
static const char *const components[] = {
    "a", "b",    "ab",   "lib",  "lib**", "*",    "**",   "a*",   "*b", "a?",
    "?", "[ab]", "[!a]", "[]a]", "\\*",   "lib*", "*lib", "a\\b", "A",  "**b",
};

/* The same numbers on every machine. */
static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

static const char *draw_path(struct arena *arena, uint32_t *state)
{
    const char *path = "";
    for (uint32_t n = draw(state, 4) + 1; n > 0; n--) {
        const char *next = components[draw(state, ARRAY_LEN(components))];
        path = arena_printf(arena, "%s%s%s", path, *path ? "/" : "", next);
    }
    return path;
}

struct met {
    struct claims *claims;
    size_t *times; /* per pair of places in the list */
};

static size_t place_of(const struct claims *c, const struct claimed *path)
{
    size_t i = 0;
    while (c->list.v[i] != path)
        i++;
    return i;
}

static bool note_meeting(void *ctx, struct claimed *a, struct claimed *b)
{
    struct met *met = ctx;
    size_t i = place_of(met->claims, a), k = place_of(met->claims, b);
    met->times[i < k ? i * met->claims->list.n + k : k * met->claims->list.n + i]++;
    return true;
}

static void assert_meets_what_overlaps(uint32_t seed, bool fold)
{
    struct fixture f = {0};
    built_init(&f.b);
    for (int i = 0; i < 40; i++)
        built_add(&f.b, built_task(&f.b), "owns", draw_path(&f.b.arena, &seed));
    build(&f, "", fold);
    size_t n = f.claims.list.n;
    struct met met = {&f.claims, mem_array(n * n, sizeof(size_t))};
    claims_meet(&f.claims, note_meeting, &met);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++) {
            const struct claimed *a = f.claims.list.v[i], *b = f.claims.list.v[k];
            if (met.times[i * n + k] != (i == k || glob_overlap(a->glob, b->glob, NULL)))
                fail_msg("'%s' and '%s' met %zu times", a->path, b->path, met.times[i * n + k]);
        }
    }
    free(met.times);
    drop(&f);
}

static void paths_meet_once_where_they_overlap(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++)
        assert_meets_what_overlaps(seed, seed % 2);
}

/* Each pair costs some hundred nanoseconds at least: with all of them, this takes minutes. */
static void early_wildcards_are_not_quadratic(void **state)
{
    (void)state;
    static const struct {
        const char *before, *behind;
    } shapes[] = {{"src/*/d", "/**"}, {"**/file", ".c"},    {"*/[ab]/m", "*/x"}, {"docs/", "*/x"},
                  {"src/*-", "/**"},  {"src/**/m", "/*.c"}, {"src/[ab]", "/**"}, {"src/*_", ".c"},
                  {"**/*-", ".c"},    {"lib/?", "/x"},      {"**/m", "/*/*.c"}};
    for (size_t shape = 0; shape < ARRAY_LEN(shapes); shape++) {
        struct fixture f = {0};
        built_init(&f.b);
        for (int i = 0; i < 20000; i++) {
            const char *path = arena_printf(&f.b.arena, "%s%d%s", shapes[shape].before, i + 100000,
                                            shapes[shape].behind);
            built_add(&f.b, built_task(&f.b), "owns", path);
        }
        build(&f, "", false);
        assert_int_equal(overlaps(&f), 0);
        drop(&f);
    }
}

/* Claims of one folder have no part in the search for overlaps in another. */
static void claims_of_other_folders_cost_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *before, *behind;
    } shapes[] = {{"app/**/m", "/*.c"}, {"src/*-", "/**"}, {"test/[ab]", "/**"}};
    clock_t start = clock();
    for (size_t other = 1; other < ARRAY_LEN(shapes); other++) {
        struct fixture f = {0};
        built_init(&f.b);
        for (int i = 0; i < 40000; i++) {
            size_t shape = i % 2 ? other : 0;
            const char *path = arena_printf(&f.b.arena, "%s%d%s", shapes[shape].before, i + 100000,
                                            shapes[shape].behind);
            built_add(&f.b, built_task(&f.b), "owns", path);
        }
        build(&f, "", false);
        assert_int_equal(overlaps(&f), 0);
        drop(&f);
    }
    assert_true((clock() - start) / CLOCKS_PER_SEC < 30); /* comparing all pairs takes minutes */
}

static void read_only_tasks_claim_nothing(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    for (int i = 0; i < 2; i++) {
        struct node *task = built_task(&f.b);
        built_add(&f.b, task, "owns", "src/");
        if (i == 0) {
            struct node *truth = node_new(&f.b.arena, NODE_BOOL, task->pos);
            truth->truth = true;
            built_put(&f.b, task, "read_only", truth);
        }
    }
    build(&f, "", false);
    assert_int_equal(overlaps(&f), 0);
    drop(&f);
}

static void forbidding_what_one_owns_is_told(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    struct node *task = built_task(&f.b);
    built_add(&f.b, task, "owns", "src/a/x.c");
    built_add(&f.b, task, "owns", "lib/");
    built_add(&f.b, task, "forbids", "src/**");
    built_add(&f.b, task, "forbids", "lib/private/");
    build(&f, "", false);
    assert_int_equal(f.ps.warnings, 1);
    assert_string_equal(f.ps.list.v[0].message,
                        "'src/**' forbids all of 'src/a/x.c', which the task owns");
    drop(&f);
}

static void claims_of_no_tracked_file_are_told(void **state)
{
    (void)state;
    static const char *const files[] = {"app/[id]/page.ts", "src/a.c", "src/b/c.c"};
    struct fixture f = {0};
    built_init(&f.b);
    struct node *task = built_task(&f.b);
    const char *const owns[] = {"src/",  "src/b", "**/c.c", "src/nope", "app/[id]/page.ts",
                                "s*/a.?"};
    for (size_t i = 0; i < ARRAY_LEN(owns); i++)
        built_add(&f.b, task, "owns", owns[i]);
    build(&f, "", false);
    claims_check_tracked(&f.claims, files, 3, &f.ps);
    assert_int_equal(f.ps.warnings, 2);
    assert_string_equal(f.ps.list.v[0].message, "'src/nope' matches no tracked file");
    assert_null(f.ps.list.v[0].hint);
    assert_string_equal(f.ps.list.v[1].message, "'app/[id]/page.ts' matches no tracked file");
    assert_non_null(f.ps.list.v[1].hint);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_normalised_lexically),
        cmocka_unit_test(claims_that_cannot_be_are_refused),
        cmocka_unit_test(overlap_is_seen_however_it_is_written),
        cmocka_unit_test(ordered_tasks_may_share),
        cmocka_unit_test(every_unordered_pair_is_found),
        cmocka_unit_test(paths_meet_once_where_they_overlap),
        cmocka_unit_test(early_wildcards_are_not_quadratic),
        cmocka_unit_test(claims_of_other_folders_cost_nothing),
        cmocka_unit_test(read_only_tasks_claim_nothing),
        cmocka_unit_test(forbidding_what_one_owns_is_told),
        cmocka_unit_test(claims_of_no_tracked_file_are_told),
    };
    return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
