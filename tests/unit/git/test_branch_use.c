#include "git/checkout/branch_use.h"

#include "base/mem.h"

#include "folder.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char on_main[] = "ref: refs/heads/main", detached[] = "0123456789";

/* Each operation of git with `main`, and those that are another branch's. */
static void the_signs_tell_the_operation(void **state)
{
    static const struct {
        struct branch_signs signs;
        const char *operation;
    } cases[] = {
        {{.head = on_main}, NULL},
        {{.head = NULL}, NULL},
        {{.head = detached}, NULL},
        {{.head = detached, .rebase = true, .rebased = "refs/heads/main"}, "a rebase"},
        {{.head = detached, .rebase = true, .rebased = "refs/heads/side"}, NULL},
        {{.head = detached, .rebase = true, .rebased = "detached HEAD"}, NULL},
        {{.head = on_main, .rebase = true, .rebased = "refs/heads/side"}, "a rebase"},
        {{.head = detached,
          .rebase = true,
          .updated = "refs/heads/side\n1\n2\nrefs/heads/main\n1\n"},
         "a rebase"},
        {{.head = detached, .rebase = true, .updated = "refs/heads/main2\n1\n2\n"}, NULL},
        {{.head = on_main, .am = true}, "git am"},
        {{.head = on_main, .merge = true}, "a merge"},
        {{.head = "ref: refs/heads/side", .merge = true}, NULL},
        {{.head = on_main, .revert = true}, "a revert"},
        {{.head = on_main, .revert = true, .sequencer = true}, "a revert"},
        {{.head = on_main, .pick = true}, "a cherry-pick or revert"},
        {{.head = on_main, .sequencer = true}, "a cherry-pick or revert"},
        {{.head = detached, .bisect = "main"}, "a bisection"},
        {{.head = on_main, .bisect = "refs/heads/main"}, "a bisection"},
        {{.head = detached, .bisect = "side"}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *found = branch_operation(&cases[i].signs, "refs/heads/main");
        if (!cases[i].operation)
            assert_null(found);
        else
            assert_string_equal(found ? found : "none", cases[i].operation);
    }
}

static void put(const char *dir, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dirs_make(path, NULL), 0);
    *slash = '/';
    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static const char *find(const char *common, const char *ours, char **ret_where)
{
    const char *operation = "not asked";
    assert_int_equal(branch_use_find(common, "refs/heads/main", ours, &operation, ret_where, NULL),
                     0);
    return operation;
}

static void all_worktrees_are_looked_at(void **state)
{
    const char *dir = *state;
    autofree char *where = NULL, *expected = mem_printf("%s/worktrees/w2", dir);
    put(dir, "HEAD", "ref: refs/heads/main\n");
    put(dir, "worktrees/w1/HEAD", "ref: refs/heads/side\n");
    put(dir, "worktrees/w1/MERGE_HEAD", "x\n");
    assert_null(find(dir, NULL, &where));
    assert_null(where);
    put(dir, "worktrees/w2/HEAD", "0123456789\n");
    put(dir, "worktrees/w2/rebase-merge/head-name", "refs/heads/main\n");
    assert_null(find(dir, "w2", &where));
    assert_string_equal(find(dir, "w3", &where), "a rebase");
    assert_string_equal(where, expected);
}

/* A FIFO, a symlink and a folder are not waited for, followed or read. */
static void odd_files_count_as_none(void **state)
{
    autofree char *head = mem_printf("%s/HEAD", (char *)*state);
    autofree char *start = mem_printf("%s/BISECT_START", (char *)*state);
    autofree char *name = mem_printf("%s/rebase-merge/head-name", (char *)*state);
    autofree char *where = NULL;
    put(*state, "other", "main\n");
    put(*state, "rebase-merge/x", "");
    assert_int_equal(mkfifo(head, 0600), 0);
    assert_int_equal(symlink("other", start), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_null(find(*state, NULL, &where));
    assert_false(branch_is_checked_out(*state, "refs/heads/main"));
}

static void a_branch_is_checked_out(void **state)
{
    put(*state, "HEAD", "ref: refs/heads/main\n");
    assert_true(branch_is_checked_out(*state, "refs/heads/main"));
    assert_false(branch_is_checked_out(*state, "refs/heads/mai"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_signs_tell_the_operation),
        cmocka_unit_test_setup_teardown(all_worktrees_are_looked_at, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(odd_files_count_as_none, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_branch_is_checked_out, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
