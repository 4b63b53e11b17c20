#include "base/mem.h"
#include "base/own.h"
#include "workspace/root_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

static bool is_there(const char *dir, const char *name)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void make(const char *work, const char *workspace)
{
    autofree char *path = mem_printf("%s/%s", work, workspace);
    struct err err = {0};
    assert_int_equal(dirs_make(path, &err), 0);
    assert_int_equal(root_folder_hide(work, &err), 0);
}

static void the_last_one_takes_it_away(void **state)
{
    autofree char *lock = mem_printf("%s/lock", (char *)*state);
    autofree char *work = mem_printf("%s/.anabranch/worktrees", (char *)*state);
    make(work, "first");
    make(work, "second");
    root_folder_tidy(lock, work, "first");
    assert_false(is_there(work, "first"));
    assert_true(is_there(work, "second"));
    assert_true(is_there(work, ".gitignore"));
    root_folder_tidy(lock, work, "second");
    assert_false(is_there(*state, ".anabranch"));
}

static void what_holds_a_workspace_stays(void **state)
{
    autofree char *lock = mem_printf("%s/lock", (char *)*state);
    autofree char *work = mem_printf("%s/elsewhere", (char *)*state);
    make(work, "run/task");
    root_folder_tidy(lock, work, "run");
    assert_true(is_there(work, "run/task"));
    assert_true(is_there(work, ".gitignore"));
}

/* As when one that ended took it away before another had something in it. */
static void what_hides_it_may_be_missing(void **state)
{
    autofree char *lock = mem_printf("%s/lock", (char *)*state);
    autofree char *work = mem_printf("%s/.anabranch/worktrees", (char *)*state);
    struct err err = {0};
    assert_int_equal(dirs_make(work, &err), 0);
    root_folder_tidy(lock, work, "run");
    assert_false(is_there(*state, ".anabranch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_one_takes_it_away, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_holds_a_workspace_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_hides_it_may_be_missing, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
