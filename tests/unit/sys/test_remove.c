#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/remove.h"

#include "folder.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#endif

#include <cmocka.h>

enum { DEPTH = 20000, FEW_FILES = 64, WIDTH = 40 };

static char *below(void **state, const char *name)
{
    return mem_printf("%s/%s", (const char *)*state, name);
}

static void make_file(const char *path)
{
    assert_int_equal(file_create(path, "x", 1, NULL), 0);
}

/* Folders in folders, with a file in each. */
static void make_deep(const char *path, int depth)
{
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(at >= 0);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int fd = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0 && next >= 0);
        (void)close(fd);
        (void)close(at);
        at = next;
    }
    (void)close(at);
}

static void assert_gone(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_not_there(void **state)
{
    autofree char *path = below(state, "none/at/all");
    assert_int_equal(dirs_remove(path, NULL), 0);
}

/* Deeper than a path can say, and than there are descriptors. */
static void test_deep(void **state)
{
    autofree char *top = below(state, "top");
    const struct rlimit few = {FEW_FILES, FEW_FILES};
    struct rlimit usual;
    struct err err = {0};
    assert_int_equal(mkdir(top, 0755), 0);
    make_deep(top, DEPTH);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){few.rlim_cur, usual.rlim_max}), 0);
    int rc = dirs_remove(top, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    if (rc)
        fail_msg("%s", err.msg);
    assert_gone(top);
}

/* Folders that are opened a second time. */
static void test_branches(void **state)
{
    autofree char *top = below(state, "top");
    assert_int_equal(mkdir(top, 0755), 0);
    for (int i = 0; i < WIDTH; i++) {
        autofree char *dir = mem_printf("%s/%d", top, i), *file = mem_printf("%s.file", dir);
        assert_int_equal(mkdir(dir, 0755), 0);
        make_file(file);
        make_deep(dir, WIDTH + i);
    }
    assert_int_equal(dirs_remove(top, NULL), 0);
    assert_gone(top);
}

static void test_odd_entries(void **state)
{
    autofree char *top = below(state, "top"), *link = below(state, "top/link");
    autofree char *fifo = below(state, "top/fifo"), *kept = below(state, "kept");
    autofree char *file = below(state, "kept/file");
    assert_int_equal(mkdir(top, 0755), 0);
    assert_int_equal(mkdir(kept, 0755), 0);
    make_file(file);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(dirs_remove(link, NULL), 0);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(dirs_remove(top, NULL), 0);
    assert_gone(top);
    assert_int_equal(access(file, F_OK), 0);
}

static void remove_as_user(const char *top)
{
    if (geteuid() == 0 && (setgid(1) < 0 || setuid(1) < 0))
        _exit(2);
    _exit(dirs_remove(top, NULL) ? 1 : 0);
}

static void test_locked_folders(void **state)
{
    autofree char *top = below(state, "top"), *in = below(state, "top/in");
    autofree char *file = below(state, "top/in/file");
    int status;
    assert_int_equal(chmod(*state, 0777), 0);
    assert_int_equal(mkdir(top, 0755), 0);
    assert_int_equal(mkdir(in, 0755), 0);
    make_file(file);
    if (geteuid() == 0)
        assert_true(chown(top, 1, 1) == 0 && chown(in, 1, 1) == 0);
    assert_int_equal(chmod(in, 0), 0);
    assert_int_equal(chmod(top, 0500), 0);
    pid_t pid = fork();
    if (pid == 0)
        remove_as_user(top);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_gone(top);
}

#ifdef __linux__

static bool set_immutable(const char *path, bool yes)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    int flags = yes ? FS_IMMUTABLE_FL : 0;
    return fd >= 0 && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* All else goes, and the message helps. */
static void test_immutable(void **state)
{
    autofree char *top = below(state, "top"), *in = below(state, "top/in");
    autofree char *kept = below(state, "top/in/kept"), *other = below(state, "top/other");
    struct err err = {0};
    assert_int_equal(mkdir(top, 0755), 0);
    assert_int_equal(mkdir(in, 0755), 0);
    make_file(kept);
    make_file(other);
    make_deep(in, WIDTH);
    if (!set_immutable(kept, true))
        skip();
    int rc = dirs_remove(top, &err);
    assert_true(set_immutable(kept, false));
    assert_int_equal(rc, -1);
    assert_int_equal(err.errnum, EPERM);
    assert_non_null(strstr(err.msg, kept));
    assert_null(strstr(err.msg, "more"));
    autofree char *help = mem_printf("chattr -R -f -i -a %s && rm -rf %s removes it", top, top);
    assert_non_null(strstr(err.msg, help));
    assert_gone(other);
    assert_int_equal(dirs_remove(top, &err), 0);
    assert_gone(top);
}

static void remove_mounted(const char *top, const char *in, const char *victim)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(victim, in, NULL, MS_BIND, NULL) < 0)
        _exit(2);
    _exit(dirs_remove(top, NULL) ? 0 : 1);
}

static void test_mount(void **state)
{
    autofree char *top = below(state, "top"), *in = below(state, "top/in");
    autofree char *victim = below(state, "victim"), *file = below(state, "victim/file");
    int status;
    assert_int_equal(mkdir(top, 0755), 0);
    assert_int_equal(mkdir(in, 0755), 0);
    assert_int_equal(mkdir(victim, 0755), 0);
    make_file(file);
    pid_t pid = fork();
    if (pid == 0)
        remove_mounted(top, in, victim);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(dirs_remove(top, NULL), 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_not_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_deep, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_branches, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_odd_entries, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_locked_folders, make_folder, remove_folder),
#ifdef __linux__
        cmocka_unit_test_setup_teardown(test_immutable, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_mount, make_folder, remove_folder),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
