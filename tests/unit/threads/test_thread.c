#include "threads/thread.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define COMMIT "1111111111111111111111111111111111111111"

/* A folder with what of a repository is looked at: nothing here asks git. */
struct fixture {
    char *dir;
    struct git_repo repo;
};

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    *state = f;
    f->dir = mem_str("/tmp/anabranch-thread-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    f->repo.common = mem_printf("%s/.git", f->dir);
    return dirs_make(f->repo.common, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = dirs_remove(f->dir, NULL);
    free(f->repo.common);
    free(f->dir);
    free(f);
    return rc;
}

static char *put(const struct fixture *f, const char *name, const char *file, const char *text)
{
    autofree char *admin = mem_printf("%s/worktrees/%s", f->repo.common, name);
    autofree char *path = mem_printf("%s/%s", admin, file);
    assert_int_equal(dirs_make(admin, NULL), 0);
    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
    return steal_ptr(path);
}

/* An administrative folder whose worktree is <dir>/worktrees/<name>. */
static char *make_admin(const struct fixture *f, const char *name)
{
    autofree char *tree = mem_printf("%s/worktrees/%s", f->dir, name);
    autofree char *text = mem_printf("%s/.git\n", tree);
    free(put(f, name, "gitdir", text));
    assert_int_equal(dirs_make(tree, NULL), 0);
    return mem_printf("%s/worktrees/%s", f->repo.common, name);
}

static struct thread make(const char *id)
{
    return (struct thread){.id = mem_str(id),
                           .branch = mem_printf("refs/heads/parallel/x-thread-%s", id),
                           .goal = mem_str("do \"it\"\nand $(that) \xc3\xa9"),
                           .engine = mem_str("claude"),
                           .enforce = mem_str("warn"),
                           .base_commit = mem_str(COMMIT)};
}

static void save_one(const struct fixture *f, const char *id, bool ordered, int64_t order)
{
    autofree char *name = mem_printf("thread-%s", id);
    struct thread t = make(id);
    t.admin = make_admin(f, name);
    t.ordered = ordered;
    t.order = order;
    assert_int_equal(thread_save(&t, NULL), 0);
    thread_done(&t);
}

static void test_none(void **state)
{
    const struct fixture *f = *state;
    autothreads struct threads ts;
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(ts.n, 0);
    free(make_admin(f, "somebody-elses"));
    threads_done(&ts);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(ts.n, 0);
}

static void assert_strv(const struct strv *sv, const char *first, const char *second)
{
    assert_int_equal(sv->n, 2);
    assert_string_equal(sv->v[0], first);
    assert_string_equal(sv->v[1], second);
}

static struct thread make_full(const struct fixture *f)
{
    struct thread t = make("api");
    t.admin = make_admin(f, "full");
    t.prompt = mem_str("more");
    t.base = mem_str("refs/heads/main");
    t.ordered = true;
    t.order = -3;
    t.port = 40000;
    t.ports = 10;
    t.made = t.configured = true;
    strv_pushl(&t.owns, "src/a b", "", NULL);
    strv_pushl(&t.forbids, "x", "y/*.c", NULL);
    strv_pushl(&t.after, "db", "7", NULL);
    vec_push(&t.requests,
             (struct thread_request){mem_str("lib"), mem_str("db"), INT64_C(1700000000000)});
    vec_push(&t.requests, (struct thread_request){mem_str("doc"), NULL, 5});
    t.pull = mem_str("https://example.com/pull/1");
    t.pull_state = mem_str("draft");
    return t;
}

static void test_round_trip(void **state)
{
    const struct fixture *f = *state;
    autothreads struct threads ts;
    struct thread t = make_full(f);
    assert_int_equal(thread_save(&t, NULL), 0);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(ts.n, 1);
    const struct thread *r = &ts.v[0];
    assert_string_equal(r->id, t.id);
    assert_string_equal(r->branch, t.branch);
    assert_string_equal(r->goal, t.goal);
    assert_string_equal(r->prompt, t.prompt);
    assert_string_equal(r->engine, t.engine);
    assert_string_equal(r->enforce, t.enforce);
    assert_string_equal(r->base, t.base);
    assert_string_equal(r->base_commit, COMMIT);
    assert_strv(&r->owns, "src/a b", "");
    assert_strv(&r->forbids, "x", "y/*.c");
    assert_strv(&r->after, "db", "7");
    assert_true(r->ordered && r->order == -3 && r->port == 40000 && r->ports == 10);
    assert_true(r->made && r->configured);
    assert_int_equal(r->requests.n, 2);
    assert_string_equal(r->requests.v[0].path, "lib");
    assert_string_equal(r->requests.v[0].claimed_by, "db");
    assert_true(r->requests.v[0].at == INT64_C(1700000000000));
    assert_null(r->requests.v[1].claimed_by);
    assert_string_equal(r->pull, "https://example.com/pull/1");
    assert_string_equal(r->pull_state, "draft");
    assert_string_equal(r->admin, t.admin);
    thread_done(&t);
}

static void test_defaults(void **state)
{
    const struct fixture *f = *state;
    autothreads struct threads ts;
    save_one(f, "1", false, 0);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    const struct thread *t = &ts.v[0];
    assert_null(t->prompt);
    assert_null(t->base);
    assert_int_equal(t->owns.n + t->forbids.n + t->after.n + t->requests.n, 0);
    assert_false(t->ordered || t->made || t->configured || t->ports);
}

static void test_order(void **state)
{
    const struct fixture *f = *state;
    static const char *const want[] = {"z", "10", "2", "3", "11"};
    autothreads struct threads ts;
    save_one(f, "11", false, 0);
    save_one(f, "3", false, 0);
    save_one(f, "2", true, 5);
    save_one(f, "10", true, 4);
    save_one(f, "z", true, -1);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(ts.n, 5);
    for (size_t i = 0; i < ts.n; i++)
        assert_string_equal(ts.v[i].id, want[i]);
    assert_ptr_equal(threads_find(&ts, "2"), &ts.v[2]);
    assert_null(threads_find(&ts, "1"));
}

static void test_here(void **state)
{
    const struct fixture *f = *state;
    autothreads struct threads ts;
    save_one(f, "1", false, 0);
    save_one(f, "10", false, 0);
    autofree char *deep = mem_printf("%s/worktrees/thread-10/src/x", f->dir);
    autofree char *top = mem_printf("%s/worktrees/thread-1", f->dir);
    assert_int_equal(dirs_make(deep, NULL), 0);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_string_equal(thread_here(&ts, deep)->id, "10");
    assert_string_equal(thread_here(&ts, top)->id, "1");
    assert_null(thread_here(&ts, f->dir));
    assert_null(thread_here(&ts, "/nowhere/at/all"));
}

static void test_relative_worktree(void **state)
{
    const struct fixture *f = *state;
    autothreads struct threads ts;
    save_one(f, "1", false, 0);
    free(put(f, "thread-1", "gitdir", "../../../worktrees/thread-1/.git\n"));
    autofree char *top = mem_printf("%s/worktrees/thread-1", f->dir);
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_string_equal(ts.v[0].path, top);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"version\":1}",
        "{\"version\":2,\"id\":\"1\"}",
        "{\"version\":\"1\"}",
        "{\"version\":1,\"id\":1,\"branch\":\"b\",\"goal\":\"g\",\"engine\":\"e\"}"};
    const struct fixture *f = *state;
    free(make_admin(f, "odd"));
    save_one(f, "1", false, 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autofree char *path = put(f, "odd", THREAD_FILE, texts[i]);
        autothreads struct threads ts;
        struct err err = {0};
        assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
        assert_int_equal(ts.n, 1);
        assert_string_equal(ts.v[0].id, "1");
        assert_int_equal(ts.damaged.n, 1);
        assert_string_equal(ts.damaged.v[0].id, "odd");
        assert_non_null(strstr(ts.damaged.v[0].problem, path));
        assert_non_null(strstr(ts.damaged.v[0].hint, path));
        assert_ptr_equal(threads_find_damaged(&ts, "odd"), &ts.damaged.v[0]);
        assert_null(threads_find_damaged(&ts, "1"));
        assert_int_equal(threads_check(&ts, &err), -1);
        assert_int_equal(err.code, ERR_ENV);
        assert_non_null(strstr(err.msg, path));
    }
}

static void test_not_utf8(void **state)
{
    const struct fixture *f = *state;
    struct thread t = make("1");
    struct err err = {0};
    t.admin = make_admin(f, "thread-1");
    strv_push(&t.owns, "caf\xe9");
    assert_int_equal(thread_save(&t, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    thread_done(&t);
    autothreads struct threads ts;
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(ts.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_here, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_relative_worktree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_utf8, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
