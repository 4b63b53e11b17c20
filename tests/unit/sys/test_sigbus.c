#include "sys/sigbus.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

enum { SIZE = 1 << 16 };

/* The memory of a file, which has no bytes there any more. */
static char *map_nothing(const char *dir)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/file", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    char *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(close(fd), 0);
    return bytes;
}

static void write_to(void *ctx)
{
    *(volatile char *)ctx = 1;
}

static void a_fault_is_told_as_often_as_it_comes(void **state)
{
    char *bytes = map_nothing(*state), own = 0;
    assert_false(sigbus_try(write_to, bytes));
    assert_false(sigbus_try(write_to, bytes));
    assert_true(sigbus_try(write_to, &own));
    assert_int_equal(own, 1);
    assert_int_equal(munmap(bytes, SIZE), 0);
}

static void what_nobody_expects_is_as_deadly_as_before(void **state)
{
    char *bytes = map_nothing(*state), own = 0;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGBUS, SIG_DFL);
        bool whole = sigbus_try(write_to, &own);
        write_to(whole ? bytes : &own);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    assert_int_equal(munmap(bytes, SIZE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fault_is_told_as_often_as_it_comes, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_nobody_expects_is_as_deadly_as_before, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
