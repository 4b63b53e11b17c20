#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "sys/own_fd.h"

enum { TRIES = 3000, /* of 10 ms */ DESCRIPTORS = 64 };

/* The waiter has opened the file, by another descriptor than the one that it got from us. */
static bool has_opened(pid_t pid, const char *path, int held)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        autofree char *link = mem_printf("/proc/%d/fd/%d", (int)pid, fd);
        char to[256] = "";
        if (fd != held && readlink(link, to, sizeof(to) - 1) > 0 && strcmp(to, path) == 0)
            return true;
    }
    return false;
}

/* The lock is shared with whoever inherits the descriptor. */
static pid_t start_waiter(const char *path, int held)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd, other;
        (void)close(held);
        (void)open("/dev/null", O_RDONLY); /* takes the number of `held` */
        bool ours = dirs_lock(path, &fd, NULL) == 0 && access(path, F_OK) == 0 &&
                    dirs_try_lock(path, &other, NULL) == 0 && other < 0;
        _exit(ours ? 0 : 1);
    }
    return pid;
}

/* If the lock's file was removed while we waited, we get the lock of the new file. */
static void test_removed(void **state)
{
    autofree char *path = mem_printf("%s/lock", (char *)*state);
    autoclose int fd = -1;
    int status;
    if (access("/proc/self/fd", R_OK) < 0)
        skip(); /* nothing tells when it waits */
    assert_int_equal(dirs_lock(path, &fd, NULL), 0);
    pid_t pid = start_waiter(path, fd);
    for (int i = 0; i < TRIES && !has_opened(pid, path, fd); i++)
        (void)usleep(10000);
    assert_true(has_opened(pid, path, fd));
    assert_int_equal(unlink(path), 0);
    own_close(&fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_held(void **state)
{
    autofree char *path = mem_printf("%s/lock", (char *)*state);
    autoclose int fd = -1, other = -1;
    assert_int_equal(dirs_lock(path, &fd, NULL), 0);
    assert_int_equal(dirs_try_lock(path, &other, NULL), 0);
    assert_int_equal(other, -1);
    own_close(&fd);
    assert_int_equal(dirs_try_lock(path, &other, NULL), 0);
    assert_true(other >= 0);
}

/* An agent can hold any lock for ever. */
static void test_limit(void **state)
{
    autofree char *path = mem_printf("%s/lock", (char *)*state);
    autofree char *holder = mem_printf("process %d ", (int)getpid());
    autoclose int fd = -1;
    int other;
    struct err err = {0};
    assert_int_equal(dirs_lock(path, &fd, NULL), 0);
    setenv("ANABRANCH_PATIENCE", "1s", 1);
    alarm(60); /* without a limit the test ends here */
    assert_int_equal(dirs_lock(path, &other, &err), -1);
    assert_int_equal(dirs_lock_long(path, &other, NULL), -1);
    alarm(0);
    unsetenv("ANABRANCH_PATIENCE");
    assert_int_equal(other, -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_non_null(strstr(err.msg, path));
    assert_non_null(strstr(err.msg, "for longer than 1 s"));
    if (access("/proc/locks", R_OK) == 0)
        assert_non_null(strstr(err.msg, holder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_removed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_held, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_limit, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
