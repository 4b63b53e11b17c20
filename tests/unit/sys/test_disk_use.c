#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/disk_use.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

enum { SIZE = 64 << 10 };

static void write_file(const char *path)
{
    autofree char *bytes = mem_alloc(SIZE);
    memset(bytes, 'x', SIZE);
    assert_int_equal(file_create(path, bytes, SIZE, NULL), 0);
}

static char *below(void **state, const char *name)
{
    return mem_printf("%s/%s", (char *)*state, name);
}

static void test_tree(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *dir = below(state, "a/b"), *one = below(state, "a/one");
    autofree char *two = below(state, "a/b/two");
    assert_int_equal(dirs_make(dir, NULL), 0);
    write_file(one);
    write_file(two);
    disk_use_add(&u, *state);
    assert_int_equal(u.files, 5);
    assert_true(u.bytes >= 2 * SIZE && u.bytes < 3 * SIZE);
    assert_false(u.partial);
}

/* A file with a hole needs less of the disk than its length. */
static void test_hole(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *path = below(state, "hole");
    write_file(path);
    assert_int_equal(truncate(path, (off_t)1 << 32), 0);
    disk_use_add(&u, path);
    assert_true(u.bytes >= SIZE && u.bytes < 2 * SIZE);
}

static void test_links(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *a = below(state, "a"), *b = below(state, "b"), *one = below(state, "a/one");
    autofree char *two = below(state, "b/two"), *three = below(state, "b/three");
    assert_int_equal(dirs_make(a, NULL) || dirs_make(b, NULL), 0);
    write_file(one);
    assert_int_equal(link(one, two) || symlink("../a", three), 0);
    disk_use_add(&u, a);
    disk_use_add(&u, b);
    assert_int_equal(u.files, 4);
    assert_true(u.bytes >= SIZE && u.bytes < 2 * SIZE);
}

static void test_absent(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *path = below(state, "nothing");
    disk_use_add(&u, path);
    assert_int_equal(u.files, 0);
    assert_int_equal(u.bytes, 0);
    assert_false(u.partial);
}

/* We report a folder that we cannot read. */
static void test_closed(void **state)
{
    if (geteuid() == 0)
        skip(); /* nothing is closed to it */
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *path = below(state, "closed");
    assert_int_equal(mkdir(path, 0), 0);
    disk_use_add(&u, *state);
    assert_int_equal(u.files, 2);
    assert_true(u.partial);
}

#ifdef __linux__
/* False where nothing can be mounted: only root may. */
static bool check_mounted(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *here = below(state, "here"), *there = below(state, "tree/there");
    autofree char *tree = below(state, "tree"), *file = below(state, "here/file");
    assert_int_equal(dirs_make(here, NULL) || dirs_make(there, NULL), 0);
    write_file(file);
    if (mount(here, there, NULL, MS_BIND, NULL) < 0)
        return false;
    disk_use_add(&u, tree);
    assert_int_equal(umount(there), 0);
    assert_int_equal(u.files, 1);
    assert_true(u.bytes < SIZE);
    return true;
}

static void test_mounted(void **state)
{
    if (!check_mounted(state))
        skip();
}
#endif

/* Deep as only an agent would make it: the depth costs no stack. */
static void test_deep(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autobuf struct buf path = BUF_INIT;
    buf_addstr(&path, *state);
    for (int i = 0; i < 1500; i++)
        buf_addstr(&path, "/d");
    assert_int_equal(dirs_make(path.s, NULL), 0);
    disk_use_add(&u, *state);
    assert_int_equal(u.files, 1501);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tree, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_hole, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_links, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_absent, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_closed, make_folder, remove_folder),
#ifdef __linux__
        cmocka_unit_test_setup_teardown(test_mounted, make_folder, remove_folder),
#endif
        cmocka_unit_test_setup_teardown(test_deep, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
