/* Tests on a file system of their own, in a file. They need root and mkfs.btrfs. */
#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "sys/fs/btrfs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/disk_use.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { IMAGE_SIZE = 128 << 20, NOBODY = 65534 };

struct disk {
    char *dir, *image, *top;
    bool mounted;
};

static bool call(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    autostrv struct strv argv = {0};
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    int status = -1;
    strv_pushl(&argv, a, b, c, d, e, NULL);
    return proc_capture(argv.v, NULL, 1 << 16, &out, &errors, &status, NULL) == 0 && status == 0;
}

static int set_up(void **state)
{
    struct disk *d = mem_alloc(sizeof(*d));
    d->dir = mem_str("/tmp/anabranch-subvolume-XXXXXX");
    if (!mkdtemp(d->dir))
        return -1;
    d->image = mem_printf("%s/image", d->dir);
    d->top = mem_printf("%s/top", d->dir);
    *state = d;
    if (dirs_make(d->top, NULL) || file_create(d->image, "", 0, NULL) ||
        truncate(d->image, IMAGE_SIZE) < 0)
        return -1;
    d->mounted = geteuid() == 0 && call("mkfs.btrfs", "-q", d->image, NULL, NULL) &&
                 call("mount", "-o", "loop", d->image, d->top);
    return 0;
}

static int tear_down(void **state)
{
    struct disk *d = *state;
    if (d->mounted && !call("umount", d->top, NULL, NULL, NULL))
        return -1;
    int rc = dirs_remove(d->dir, NULL);
    free(d->dir);
    free(d->image);
    free(d->top);
    free(d);
    return rc;
}

static char *below(void **state, const char *name)
{
    struct disk *d = *state;
    if (!d->mounted)
        skip();
    return mem_printf("%s/%s", d->top, name);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    assert_int_equal(file_create(path, text, strlen(text), NULL), 0);
}

static struct stat look(const char *dir, const char *name)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static void test_snapshot(void **state)
{
    autofree char *one = below(state, "one"), *two = below(state, "two");
    autofree char *inner = below(state, "one/folder");
    assert_int_equal(btrfs_make(one, NULL), 0);
    assert_true(btrfs_is(one));
    assert_int_equal(look(one, ".").st_mode & 07777, 0700);
    assert_int_equal(dirs_make(inner, NULL), 0);
    assert_false(btrfs_is(inner));
    write_file(inner, "file", "text");
    assert_int_equal(btrfs_snapshot(one, two, NULL), 0);
    assert_true(btrfs_is(two));
    struct stat a = look(one, "folder/file"), b = look(two, "folder/file");
    assert_int_equal(a.st_ino, b.st_ino);
    assert_memory_equal(&a.st_ctim, &b.st_ctim, sizeof(a.st_ctim));
    assert_memory_equal(&a.st_mtim, &b.st_mtim, sizeof(a.st_mtim));
    write_file(two, "new", "");
    struct stat st;
    autofree char *new = mem_printf("%s/new", one);
    assert_true(lstat(new, &st) < 0);
}

static void test_drop(void **state)
{
    autofree char *one = below(state, "one"), *folder = below(state, "folder");
    assert_int_equal(btrfs_make(one, NULL), 0);
    write_file(one, "file", "text");
    assert_true(btrfs_drop(one));
    assert_false(btrfs_is(one));
    assert_false(btrfs_drop(one));
    assert_int_equal(dirs_make(folder, NULL), 0);
    assert_false(btrfs_drop(folder));
}

/* One in a folder in one. */
static void test_remove_nested(void **state)
{
    autofree char *one = below(state, "one"), *folder = below(state, "one/folder");
    autofree char *two = below(state, "one/folder/two");
    autofree char *link = below(state, "one/folder/two/link"), *other = below(state, "other");
    struct stat st;
    assert_int_equal(btrfs_make(one, NULL) || btrfs_make(other, NULL), 0);
    assert_int_equal(dirs_make(folder, NULL) || btrfs_make(two, NULL), 0);
    assert_int_equal(symlink(other, link), 0);
    write_file(two, "file", "text");
    assert_false(btrfs_drop(one));
    assert_int_equal(dirs_remove(one, NULL), 0);
    assert_true(lstat(one, &st) < 0);
    assert_true(btrfs_is(other));
}

/* A subvolume has a device of its own, and is no mount. */
static void test_disk_use(void **state)
{
    autodiskuse struct disk_use u = DISK_USE_INIT;
    autofree char *folder = below(state, "folder"), *one = below(state, "folder/one");
    assert_int_equal(dirs_make(folder, NULL) || btrfs_make(one, NULL), 0);
    write_file(one, "file", "text");
    disk_use_add(&u, folder);
    assert_int_equal(u.files, 3);
}

static int as_nobody(const char *dir)
{
    autofree char *one = mem_printf("%s/one", dir), *two = mem_printf("%s/two", dir);
    struct stat st;
    bool drop;
    if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 1;
    if (btrfs_try(dir, dir, &drop, NULL) || drop || btrfs_make(one, NULL))
        return 2;
    write_file(one, "file", "text");
    if (btrfs_snapshot(one, two, NULL))
        return 3;
    if (btrfs_drop(two))
        return 4; /* the file system was not mounted for that */
    return dirs_remove(two, NULL) || lstat(two, &st) == 0 ? 5 : 0;
}

/* A user who may not delete a subvolume may empty it. */
static void test_plain_user(void **state)
{
    autofree char *dir = below(state, "nobody");
    struct disk *d = *state;
    int status;
    assert_int_equal(dirs_make(dir, NULL) || chown(dir, NOBODY, NOBODY) || chmod(d->dir, 0755) ||
                         chmod(d->top, 0755),
                     0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(as_nobody(dir));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_try(void **state)
{
    autofree char *folder = below(state, "folder");
    struct disk *d = *state;
    struct err err = {0};
    bool drop;
    assert_int_equal(dirs_make(folder, NULL), 0);
    assert_int_equal(btrfs_try(d->top, folder, &drop, &err), 0);
    assert_true(drop);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(btrfs_try(d->top, d->dir, &drop, &err), -1);
    assert_int_equal(err.code, ERR_ENV);
    autodiskuse struct disk_use u = DISK_USE_INIT;
    disk_use_add(&u, d->top);
    assert_int_equal(u.files, 1);
}

/* On a file system without subvolumes the calls fail, and make nothing. */
static void test_elsewhere(void **state)
{
    struct disk *d = *state;
    autofree char *one = mem_printf("%s/one", d->dir);
    struct stat st;
    struct err err = {0};
    bool drop;
    if (btrfs_try(d->dir, d->dir, &drop, &err) == 0)
        skip(); /* the folder for temporary files is on btrfs */
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(btrfs_make(one, &err), -1);
    assert_true(lstat(one, &st) < 0);
    assert_false(btrfs_is(d->dir));
    assert_false(btrfs_drop(d->top));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_remove_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_try, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_elsewhere, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
