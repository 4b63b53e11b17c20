#include "git/format/loose_ref.h"

#include "base/mem.h"

#include "folder.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void put(const char *dir, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct err err = {0};
    assert_int_equal(file_replace(path, text, strlen(text), &err), 0);
}

/* The branch that a HEAD of this text stands for; NULL where git must be asked. */
static char *head(const char *dir, const char *text)
{
    autobuf struct buf branch = BUF_INIT;
    put(dir, "HEAD", text);
    return loose_ref_head(dir, &branch) ? buf_steal(&branch) : NULL;
}

static void a_head_is_a_branch(void **state)
{
    autofree char *plain = head(*state, "ref: refs/heads/main\n");
    autofree char *deep = head(*state, "ref: refs/heads/a/b.c\n");
    assert_string_equal(plain, "refs/heads/main");
    assert_string_equal(deep, "refs/heads/a/b.c");
}

static void what_is_no_branch_is_for_git(void **state)
{
    static const char *const others[] = {
        "",
        "ref: ",
        "ref: refs/heads/main", /* half written */
        "ref: refs/tags/v1\n",
        "ref: refs/heads/.invalid\n", /* refs are in a table */
        "ref: refs/heads/main\nmore\n",
        "0123456789012345678901234567890123456789\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_null(head(*state, others[i]));
}

static void a_ref_is_its_id(void **state)
{
    static const char id[] = "0123456789012345678901234567890123456789\n";
    autobuf struct buf found = BUF_INIT;
    put(*state, "plain", id);
    put(*state, "short", id + 1);
    put(*state, "symbolic", "ref: refs/heads/main\n");
    assert_false(loose_ref_read(*state, "none", &found));
    assert_false(loose_ref_read(*state, "short", &found));
    assert_false(loose_ref_read(*state, "symbolic", &found));
    assert_int_equal(found.len, 0);
    assert_true(loose_ref_read(*state, "plain", &found));
    assert_int_equal(strncmp(found.s, id, found.len), 0);
    assert_int_equal(found.len, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_head_is_a_branch, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_branch_is_for_git, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_ref_is_its_id, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
