/* A small history in a repository of its own: commits ahead and behind, and merge bases. */
#include "git/merge/history.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static char folder[] = "/tmp/history-XXXXXX";
static char *git_dir;
static struct git_place at;

static char *tree_id(void)
{
    struct buf out = BUF_INIT;
    struct err err = {0};
    assert_int_equal(git_call(&at, &out, &err, "mktree", NULL), 0);
    return buf_steal(&out);
}

/* A commit with an empty tree; the message makes two of them two. */
static char *commit(const char *message, const char *parent, const char *second)
{
    autofree char *tree = tree_id();
    const char *const parents[] = {parent, parent ? second : NULL, NULL};
    struct buf out = BUF_INIT;
    struct err err = {0};
    assert_int_equal(git_commit_tree(&at, tree, parents, message, &out, &err), 0);
    return buf_steal(&out);
}

static int set_up(void **state)
{
    struct err err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    git_dir = mem_printf("%s/.git", folder);
    at.git_dir = git_dir;
    (void)setenv("GIT_AUTHOR_NAME", "x", 1);
    (void)setenv("GIT_AUTHOR_EMAIL", "x@example.com", 1);
    (void)setenv("GIT_COMMITTER_NAME", "x", 1);
    (void)setenv("GIT_COMMITTER_EMAIL", "x@example.com", 1);
    (void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    return git_call(&at, NULL, &err, "init", "--quiet", NULL);
}

static int tear_down(void **state)
{
    (void)state;
    free(git_dir);
    return dirs_remove(folder, NULL);
}

static void read_all(struct history *h, const char *const *ids, size_t n)
{
    autostrv struct strv tips = {0};
    struct err err = {0};
    for (size_t i = 0; i < n; i++)
        strv_push(&tips, ids[i]);
    assert_int_equal(history_read(h, &at, &tips, &err), 0);
}

static void assert_count(struct history *h, const char *tip, const char *of, size_t ahead,
                         size_t behind)
{
    size_t a, b;
    history_count(h, tip, of, &a, &b);
    assert_int_equal(a, ahead);
    assert_int_equal(b, behind);
}

/* root - base - main
 *          \- a1 - a2
 *          \- b1 - merge of b1 and main */
static void counts_and_forks(void **state)
{
    (void)state;
    autofree char *root = commit("root", NULL, NULL), *base = commit("base", root, NULL);
    autofree char *main = commit("main", base, NULL);
    autofree char *a1 = commit("a1", base, NULL), *a2 = commit("a2", a1, NULL);
    autofree char *b1 = commit("b1", base, NULL), *b2 = commit("b2", b1, main);
    const char *const tips[] = {main, a2, b2, base};
    autohistory struct history h;
    read_all(&h, tips, 4);
    assert_count(&h, a2, main, 2, 1);
    assert_count(&h, b2, main, 2, 0);
    assert_count(&h, base, main, 0, 1);
    assert_count(&h, main, main, 0, 0);
    assert_count(&h, a2, b2, 2, 3);
    assert_string_equal(history_fork(&h, a2, tips, 1), base);
    assert_string_equal(history_fork(&h, b2, tips, 1), main);
    assert_string_equal(history_fork(&h, base, tips, 1), base);
    const char *const both[] = {base, main};
    assert_string_equal(history_fork(&h, b2, both, 2), main);
}

/* Each side has merged the other: there are two commits that both go back to. */
static void crossed_merges_have_no_single_fork(void **state)
{
    (void)state;
    autofree char *root = commit("root of x", NULL, NULL);
    autofree char *x1 = commit("x1", root, NULL), *y1 = commit("y1", root, NULL);
    autofree char *x2 = commit("x2", x1, y1), *y2 = commit("y2", y1, x1);
    const char *const tips[] = {x2, y2};
    autohistory struct history h;
    read_all(&h, tips, 2);
    assert_null(history_fork(&h, x2, tips + 1, 1));
    assert_count(&h, x2, y2, 1, 1);
}

static void histories_without_a_relation(void **state)
{
    (void)state;
    autofree char *one = commit("one", NULL, NULL), *other = commit("other", NULL, NULL);
    const char *const tips[] = {one, other};
    autohistory struct history h;
    read_all(&h, tips, 2);
    assert_null(history_fork(&h, one, tips + 1, 1));
    assert_count(&h, one, other, 1, 1);
}

static void no_tips(void **state)
{
    (void)state;
    autohistory struct history h;
    read_all(&h, NULL, 0);
    assert_int_equal(h.commits.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_forks),
        cmocka_unit_test(crossed_merges_have_no_single_fork),
        cmocka_unit_test(histories_without_a_relation),
        cmocka_unit_test(no_tips),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
