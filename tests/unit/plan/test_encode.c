/* plan_encode() writes a plan that reads back as the same plan. */
#include "base/buf.h"
#include "doc/doc.h"
#include "plan/plan.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void encode(const struct plan *plan, struct buf *out)
{
    struct arena a = {0};
    doc_write_line(out, plan_encode(plan, &a));
    arena_done(&a);
}

static void read_again(const char *name, enum plan_kind kind, const struct buf *text,
                       struct buf *out)
{
    struct doc doc;
    struct plan plan;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON};
    problems_init(&ps, name);
    assert_int_equal(doc_parse(&doc, NULL, text->s, text->len, &opts, &ps), 0);
    if (plan_decode_encoded(&plan, doc.root, kind, &ps))
        fail_msg("%s: %s", name, ps.list.v[0].message);
    assert_int_equal(plan.kind, kind);
    encode(&plan, out);
    plan_done(&plan);
    doc_done(&doc);
}

/* Our own plans need only the strings of their tree. */
static void check_without_tree(struct plan *plan, struct doc *doc, const struct buf *text)
{
    autobuf struct buf again = BUF_INIT;
    if (plan->kind != PLAN_TASKS)
        return;
    plan_forget_tree(plan);
    arena_forget_records(&doc->arena);
    encode(plan, &again);
    assert_string_equal(again.s, text->s);
    struct arena a = {0};
    struct node *map = plan_encode_frame(plan, &a);
    assert_null(node_get(map, "tasks"));
    arena_done(&a);
    for (size_t i = 0; i < plan->task_count; i++)
        assert_null(plan->tasks[i].node);
}

static void check_file(const char *name)
{
    char path[512];
    struct doc doc;
    struct plan plan;
    autoproblems struct problems ps;
    autobuf struct buf once = BUF_INIT, twice = BUF_INIT;
    struct doc_options opts = {0};
    (void)snprintf(path, sizeof(path), "tests/plans/good/%s", name);
    problems_init(&ps, path);
    assert_int_equal(doc_load(&doc, path, &opts, &ps), 0);
    assert_int_equal(plan_decode(&plan, doc.root, &doc.arena, &ps), 0);
    encode(&plan, &once);
    read_again(path, plan.kind, &once, &twice);
    assert_string_equal(once.s, twice.s);
    check_without_tree(&plan, &doc, &once);
    plan_done(&plan);
    doc_done(&doc);
}

static void all_good_plans(void **state)
{
    (void)state;
    size_t n = 0;
    DIR *dir = opendir("tests/plans/good");
    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        const char *dot = strrchr(d->d_name, '.');
        if (d->d_name[0] == '.' || !dot || strcmp(dot, ".expect") == 0)
            continue;
        check_file(d->d_name);
        n++;
    }
    (void)closedir(dir);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_good_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
