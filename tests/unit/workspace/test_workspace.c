#include "workspace/workspace.h"

#include "base/mem.h"
#include "git/unsynced.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "beside.h"
#include "folder.h"

enum { TIMES = 2000 };

static void the_folder_of_all_is_made_again_where_git_takes_it_away(void **state)
{
    autofree char *worktrees = mem_printf("%s/worktrees", (const char *)*state);
    pid_t sweeper = begin_sweeping(worktrees);
    for (int i = 0; i < TIMES; i++) {
        struct workspace ws = {.path = mem_printf("%s/run/task", (const char *)*state),
                               .common = mem_str(*state),
                               .branch = mem_str("refs/heads/b")};
        struct err err = {0};
        if (workspace_repair(&ws, NULL, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(access(ws.admin, F_OK), 0);
        assert_int_equal(dirs_remove(ws.admin, &err), 0);
        workspace_done(&ws);
    }
    assert_int_equal(end_sweeping(sweeper), 0);
}

/* We remove nothing before the saved work is synced */

static int retire(struct workspace *ws, struct err *err)
{
    autostrv struct strv left = {0};
    return workspace_retire(ws, &left, err);
}

static int clear(struct workspace *ws, struct err *err)
{
    return workspace_clear(ws, err);
}

static int forget(struct workspace *ws, struct err *err)
{
    return workspace_forget(ws, err);
}

static const struct {
    const char *name;
    int (*fn)(struct workspace *ws, struct err *err);
    bool removes_tree;
} removers[] = {
    {"retire", retire, true},
    {"remove", workspace_remove, true},
    {"clear", clear, true},
    {"forget", forget, false},
};

static void saved_work_is_synced_before_anything_is_removed(void **state)
{
    autofree char *worktrees = mem_printf("%s/worktrees", (const char *)*state);
    autofree char *work = mem_printf("%s/run", (const char *)*state);
    autofree char *missing = mem_printf("%s/missing", (const char *)*state);
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(removers); i++) {
        struct workspace ws = {.path = mem_printf("%s/run/task", (const char *)*state),
                               .common = mem_str(*state),
                               .branch = mem_str("refs/heads/b")};
        if (workspace_repair(&ws, NULL, &err) || dirs_make(ws.path, &err))
            fail_msg("%s: %s", removers[i].name, err.msg);
        unsynced_note();
        struct workspace unknown = ws; /* whose disk cannot be synced */
        unknown.common = missing;
        assert_int_equal(removers[i].fn(&unknown, &err), -1);
        assert_int_equal(access(ws.path, F_OK), 0);
        assert_int_equal(access(ws.admin, F_OK), 0);
        if (removers[i].fn(&ws, &err))
            fail_msg("%s: %s", removers[i].name, err.msg);
        if (unsynced_is_noted())
            fail_msg("%s does not sync", removers[i].name);
        assert_int_equal(access(ws.path, F_OK) < 0, removers[i].removes_tree);
        workspace_done(&ws);
        assert_int_equal(dirs_remove(worktrees, &err), 0);
        assert_int_equal(dirs_remove(work, &err), 0);
    }
}

static void one_sync_settles_all_and_a_failed_one_nothing(void **state)
{
    autofree char *missing = mem_printf("%s/missing", (const char *)*state);
    struct err err = {0};
    assert_int_equal(unsynced_settle(missing, &err), 0); /* nothing is noted */
    unsynced_note();
    unsynced_note();
    assert_int_equal(unsynced_settle(missing, &err), -1);
    assert_true(unsynced_is_noted());
    assert_int_equal(unsynced_settle(*state, &err), 0);
    assert_int_equal(unsynced_settle(missing, &err), 0);
    unsynced_note();
    unsynced_allow(true);
    assert_int_equal(unsynced_settle(missing, &err), 0);
    unsynced_allow(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_folder_of_all_is_made_again_where_git_takes_it_away,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(saved_work_is_synced_before_anything_is_removed,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_sync_settles_all_and_a_failed_one_nothing, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
