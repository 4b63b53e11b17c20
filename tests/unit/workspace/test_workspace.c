#include "workspace/workspace.h"

#include "base/mem.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_folder_of_all_is_made_again_where_git_takes_it_away,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
