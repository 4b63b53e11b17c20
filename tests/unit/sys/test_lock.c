#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"

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

enum { TRIES = 3000 }; /* of 10 ms */

static int set_up(void **state)
{
    *state = mem_str("/tmp/anabranch-lock-XXXXXX");
    return mkdtemp(*state) ? 0 : -1;
}

static int tear_down(void **state)
{
    int rc = dirs_remove(*state, NULL);
    free(*state);
    return rc;
}

/* Whether the system says that someone waits for the lock of this very file. */
static bool has_waiter(const struct stat *st)
{
    autofree char *inode = mem_printf(":%ju ", (uintmax_t)st->st_ino);
    char line[256];
    bool found = false;
    FILE *f = fopen("/proc/locks", "r");
    assert_non_null(f);
    while (!found && fgets(line, sizeof(line), f))
        found = strstr(line, "-> ") && strstr(line, inode);
    (void)fclose(f);
    return found;
}

/* The lock is shared with whoever inherits the descriptor. */
static pid_t start_waiter(const char *path, int held)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd, other;
        (void)close(held);
        bool ours = dirs_lock(path, &fd, NULL) == 0 && access(path, F_OK) == 0 &&
                    dirs_try_lock(path, &other, NULL) == 0 && other < 0;
        _exit(ours ? 0 : 1);
    }
    return pid;
}

/* Whoever waited for a lock whose file was taken away has that of the file which is there. */
static void test_removed(void **state)
{
    autofree char *path = mem_printf("%s/lock", (char *)*state);
    autoclose int fd = -1;
    struct stat st;
    int status;
    if (access("/proc/locks", R_OK) < 0)
        skip(); /* nothing tells when it waits */
    assert_int_equal(dirs_lock(path, &fd, NULL), 0);
    assert_int_equal(fstat(fd, &st), 0);
    pid_t pid = start_waiter(path, fd);
    for (int i = 0; i < TRIES && !has_waiter(&st); i++)
        (void)usleep(10000);
    assert_true(has_waiter(&st));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_held, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
