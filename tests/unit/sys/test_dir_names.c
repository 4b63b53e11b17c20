#include "sys/fs/dir_names.h"

#include "base/mem.h"
#include "base/own.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "sys/own_fd.h"

static void put(void **state, const char *name)
{
    autofree char *path = mem_printf("%s/%s", (const char *)*state, name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
}

static int open_folder(void **state)
{
    int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool has(const struct buf *names, const char *name)
{
    for (const char *s = names->s; s < names->s + names->len; s += strlen(s) + 1) {
        if (strcmp(s, name) == 0)
            return true;
    }
    return false;
}

static void all_but_one_are_read(void **state)
{
    put(state, "a"), put(state, ".b"), put(state, "but"), put(state, "butter");
    autoclose int fd = open_folder(state);
    autobuf struct buf names = BUF_INIT;
    assert_int_equal(dir_names_read(fd, "but", &names), 0);
    assert_int_equal(names.len, sizeof("a") + sizeof(".b") + sizeof("butter"));
    assert_true(has(&names, "a") && has(&names, ".b") && has(&names, "butter"));
}

/* More than are read at a time. */
static void very_many_are_read(void **state)
{
    enum { MANY = 3000, LENGTH = 60 };
    autobuf struct buf names = BUF_INIT;
    for (int i = 0; i < MANY; i++) {
        autofree char *name = mem_printf("%0*d", LENGTH, i);
        put(state, name);
    }
    autoclose int fd = open_folder(state);
    assert_int_equal(dir_names_read(fd, "", &names), 0);
    assert_int_equal(names.len, MANY * (LENGTH + 1));
}

static void what_is_no_folder_has_none(void **state)
{
    put(state, "file");
    autofree char *path = mem_printf("%s/file", (const char *)*state);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    autobuf struct buf names = BUF_INIT;
    assert_int_equal(dir_names_read(fd, "", &names), -1);
}

static bool fits(int fd, size_t names, size_t length)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return dir_names_size_fits(dir_names_size_means(fd), st.st_size, names, length);
}

/* On every file system: the size of a folder fits what is in it or tells nothing, and never fits
 * where there is one more. */
static void a_size_does_not_lie(void **state)
{
    put(state, "ab"), put(state, "c");
    autoclose int fd = open_folder(state);
    bool tells = dir_names_size_means(fd) != NAMES_SIZE_NOTHING;
    assert_true(fits(fd, 2, 3) == tells);
    put(state, "d");
    assert_false(fits(fd, 2, 3));
    assert_true(fits(fd, 3, 4) == tells);
    assert_int_equal(unlinkat(fd, "ab", 0), 0);
    assert_int_equal(renameat(fd, "c", fd, "d"), 0);
    assert_true(fits(fd, 1, 1) == tells);
    assert_int_equal(mkdirat(fd, "f", 0777), 0);
    assert_false(fits(fd, 1, 1));
}

#define on(test, make) cmocka_unit_test_setup_teardown(test, make, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on(all_but_one_are_read, make_folder),       on(very_many_are_read, make_folder),
        on(what_is_no_folder_has_none, make_folder), on(a_size_does_not_lie, make_folder),
        on(a_size_does_not_lie, make_memory_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
