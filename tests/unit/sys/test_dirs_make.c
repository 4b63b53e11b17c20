#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

static bool is_made(void **state, const char *name)
{
    autofree char *path = mem_printf("%s/%s", (const char *)*state, name);
    struct stat st;
    return dirs_make(path, NULL) == 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void missing_folders_are_made_at_any_depth(void **state)
{
    assert_true(is_made(state, ""));
    assert_true(is_made(state, "a"));
    assert_true(is_made(state, "a"));
    assert_true(is_made(state, "a/b/c/d"));
    assert_true(is_made(state, "a/b/other//e/f/"));
    assert_true(is_made(state, "x/y"));
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(dirs_make("p/q/r", NULL), 0);
    assert_int_equal(access("p/q/r", F_OK), 0);
    assert_int_equal(chdir("/"), 0);
}

static void a_file_in_the_way_is_named(void **state)
{
    autofree char *file = mem_printf("%s/file", (const char *)*state);
    autofree char *below = mem_printf("%s/a/b", file);
    autofree char *message = mem_printf("make folder '%s': ", file);
    struct err err = {0};
    assert_int_equal(file_create(file, "", 0, NULL), 0);
    assert_int_equal(dirs_make(below, &err), -1);
    if (strncmp(err.msg, message, strlen(message)) != 0)
        fail_msg("%s", err.msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_folders_are_made_at_any_depth, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_is_named, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("dirs_make", tests, NULL, NULL);
}
