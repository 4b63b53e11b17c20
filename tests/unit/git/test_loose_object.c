#include "git/format/loose_object.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "beside.h"
#include "folder.h"

enum { SHA1_DIGITS = 40, TIMES = 2000 };

static int make_store(void **state)
{
    if (make_folder(state))
        return -1;
    autofree char *objects = mem_printf("%s/objects", (const char *)*state);
    return mkdir(objects, 0700);
}

/* git's id of "hello" and a newline; its first two digits name the folder. */
static const char hello[] = "ce013625030ba8dba906f756967f9e9ca394464a";

static int write_hello(const char *git_dir)
{
    autobuf struct buf bytes = BUF_INIT, id = BUF_INIT;
    struct err err = {0};
    buf_addstr(&bytes, "hello\n");
    int rc = loose_object_write(git_dir, "blob", &bytes, SHA1_DIGITS, &id, &err);
    assert_string_equal(rc ? err.msg : id.s, hello);
    return rc;
}

static void it_is_where_git_has_it(void **state)
{
    autofree char *path = mem_printf("%s/objects/ce/%s", (const char *)*state, hello + 2);
    assert_int_equal(write_hello(*state), 0);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(write_hello(*state), 0);
}

static void folders_that_a_gc_takes_away_are_made_again(void **state)
{
    autofree char *folder = mem_printf("%s/objects/ce", (const char *)*state);
    autofree char *path = mem_printf("%s/%s", folder, hello + 2);
    pid_t sweeper = begin_sweeping(folder);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(write_hello(*state), 0);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(end_sweeping(sweeper), 0);
}

static void without_a_place_it_fails(void **state)
{
    autofree char *objects = mem_printf("%s/objects", (const char *)*state);
    autobuf struct buf bytes = BUF_INIT, id = BUF_INIT;
    struct err err = {0};
    assert_int_equal(rmdir(objects), 0);
    assert_int_equal(loose_object_write(*state, "blob", &bytes, SHA1_DIGITS, &id, &err), -1);
    assert_non_null(strstr(err.msg, "No such file"));
    assert_int_equal(id.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_where_git_has_it, make_store, remove_folder),
        cmocka_unit_test_setup_teardown(folders_that_a_gc_takes_away_are_made_again, make_store,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(without_a_place_it_fails, make_store, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
