#include "view/report/details.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A run of n tasks, of which every tenth failed, each waiting for the two before it. */
struct fixture {
    struct report r;
    struct report_details m;
};

static struct report_task make_task(struct fixture *f, size_t i)
{
    bool bad = i % 10 == 0;
    struct report_task t = {
        .lane = -1, .duration = 1000, .end = bad ? REPORT_FAILED : REPORT_LANDED};
    t.row = (struct store_task){
        .run = "run",
        .id = arena_printf(&f->r.arena, "task-%zu", i),
        .title = "One that has a title of some length | <b>",
        .engine = "sim",
        .state = bad ? "failed" : "landed",
        .failure = bad ? "verify" : NULL,
        .reason = bad ? "verification failed (exit code 1)" : NULL,
        .attempts = 1,
        .usd = -1,
    };
    t.output = bad ? "first\nlast\n" : NULL;
    return t;
}

static void begin(struct fixture *f, size_t n)
{
    *f = (struct fixture){.r = {.n = n, .usd = -1, .duration = 5000, .logs = "logs"}};
    f->r.row = (struct store_run){.id = "run", .state = "finished", .started = 1000};
    f->r.tasks = mem_array(n, sizeof(*f->r.tasks)); /* the report frees it */
    for (size_t i = 0; i < n; i++) {
        f->r.tasks[i] = make_task(f, i);
        f->r.ends[f->r.tasks[i].end]++;
    }
    struct report_source from = {0};
    report_details_init(&f->m, &f->r, &from);
    for (size_t i = 0; i < n; i++) {
        struct report_life *l = &f->m.task_details[i];
        vec_push(&l->spans, (struct report_span){1000, 3000, REPORT_RUNNING});
        for (size_t k = 1; k <= 2 && k <= i; k++)
            vec_push(&l->dependencies, (uint32_t)(i - k));
        l->stage = (uint32_t)i;
        f->m.dependencies += l->dependencies.n;
    }
    f->m.stages = (uint32_t)n;
}

static void end(struct fixture *f)
{
    report_details_done(&f->m);
    report_done(&f->r);
}

static size_t count(const struct buf *text, const char *what)
{
    size_t n = 0;
    for (const char *s = text->s; (s = strstr(s, what)); s += strlen(what))
        n++;
    return n;
}

static void test_a_small_run_is_whole(void **state)
{
    (void)state;
    struct fixture f;
    autobuf struct buf out = BUF_INIT;
    begin(&f, 20);
    report_md(&f.m, &out);
    assert_int_equal(count(&out, "\n| task-"), 20);
    assert_int_equal(count(&out, " --> "), 37);
    assert_int_equal(count(&out, "\n## task-"), 2);
    assert_int_equal(count(&out, "short."), 0);
    end(&f);
}

static void test_a_large_one_fits_into_a_comment_and_says_what_it_leaves_out(void **state)
{
    (void)state;
    struct fixture f;
    autobuf struct buf out = BUF_INIT;
    begin(&f, 3000);
    report_md(&f.m, &out);
    assert_true(out.len < 65536);
    size_t rows = count(&out, "\n| task-"), failures = count(&out, "\n## task-");
    assert_true(rows > 200 && rows < 3000);
    assert_true(failures > 20 && failures < 300);
    autobuf struct buf left = BUF_INIT;
    buf_addf(&left, "\n%zu more tasks are not in the table", 3000 - rows);
    assert_int_equal(count(&out, left.s), 1);
    buf_cut(&left, 0);
    buf_addf(&left, "\n%zu more failed tasks are left out", 300 - failures);
    assert_int_equal(count(&out, left.s), 1);
    assert_int_equal(count(&out, "is too large to draw here"), 1);
    assert_int_equal(count(&out, " | failed | "), rows < 300 ? rows : 300); /* before all others */
    end(&f);
}

/* Arrows that pass many stages are not to make the page grow by their length. */
static void test_a_page_grows_with_the_run_and_not_faster(void **state)
{
    (void)state;
    size_t sizes[2];
    for (size_t k = 0; k < 2; k++) {
        struct fixture f;
        autobuf struct buf out = BUF_INIT;
        size_t n = k ? 2000 : 1000;
        begin(&f, n);
        for (size_t i = 2; i < n; i++) /* from the first to all */
            f.m.task_details[i].dependencies.v[1] = 0;
        report_html(&f.m, &out);
        assert_int_equal(count(&out, "<details class=\"task "), n);
        assert_int_equal(count(&out, "class=\"edge\""), 2 * n - 3);
        sizes[k] = out.len;
        end(&f);
    }
    assert_true(sizes[1] < sizes[0] * 22 / 10);
}

static void test_hostile_text_stays_text(void **state)
{
    (void)state;
    struct fixture f;
    autobuf struct buf md = BUF_INIT, page = BUF_INIT, sarif = BUF_INIT, junit = BUF_INIT;
    begin(&f, 1);
    f.r.tasks[0].row.title = "`|\n</title><script> \xff \xe2\x80\xae ]]>";
    f.r.tasks[0].row.reason = f.r.tasks[0].row.title;
    report_md(&f.m, &md);
    report_html(&f.m, &page);
    report_sarif(&f.m, &sarif);
    report_junit(&f.m, &junit);
    assert_int_equal(
        count(&md, "\\`\\|\\\\n\\</title\\>\\<script\\> \\\\xFF \\\\u\\{202E\\} \\]\\]\\>"), 3);
    assert_int_equal(count(&page, "`|\\n&lt;/title&gt;&lt;script&gt; \\xFF \\u{202E} ]]&gt;"), 3);
    assert_int_equal(count(&sarif, "`|\\\\n</title><script> \\\\xFF \\\\u{202E} ]]>"), 1);
    assert_int_equal(count(&junit, "&lt;script&gt;"), 2);
    assert_int_equal(count(&md, "<script"), count(&md, "\\<script"));
    assert_int_equal(count(&page, "<script") + count(&junit, "<script"), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_run_is_whole),
        cmocka_unit_test(test_a_large_one_fits_into_a_comment_and_says_what_it_leaves_out),
        cmocka_unit_test(test_a_page_grows_with_the_run_and_not_faster),
        cmocka_unit_test(test_hostile_text_stays_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
