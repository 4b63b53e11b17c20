#include "git/gc_lock.h"

#include "folder.h"
#include "sys/fs/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

static pid_t holder_of(const char *dir)
{
    autofree char *path = mem_printf("%s/gc.pid", dir);
    autobuf struct buf text = BUF_INIT;
    return file_read(path, 1000, &text, NULL) ? 0 : (pid_t)strtol(text.s, NULL, 10);
}

static pid_t join(const char *dir)
{
    pid_t other = -1;
    struct err err = {0};
    if (gc_lock_join(dir, dir, &other, &err))
        fail_msg("%s", err.msg);
    return other;
}

static void leave(const char *dir)
{
    struct err err = {0};
    if (gc_lock_leave(dir, dir, &err))
        fail_msg("%s", err.msg);
}

static void put(const char *dir, pid_t pid, const char *host)
{
    autofree char *path = mem_printf("%s/gc.pid", dir), *text = mem_printf("%d %s\n", pid, host);
    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

/* A process that is in the lock until a byte comes. */
static pid_t join_apart(const char *dir, int *ret_pipe)
{
    int begun[2], end[2];
    char byte;
    assert_int_equal(pipe(begun) | pipe(end), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t other;
        close(end[1]);
        if (gc_lock_join(dir, dir, &other, NULL) || write(begun[1], "x", 1) != 1 ||
            read(end[0], &byte, 1) != 1 || gc_lock_leave(dir, dir, NULL))
            _exit(1);
        _exit(0);
    }
    assert_int_equal(read(begun[0], &byte, 1), 1);
    close(begun[0]);
    close(begun[1]);
    close(end[0]);
    *ret_pipe = end[1];
    return pid;
}

static void one_takes_and_removes_it(void **state)
{
    assert_int_equal(join(*state), 0);
    assert_int_equal(holder_of(*state), getpid());
    leave(*state);
    assert_int_equal(holder_of(*state), 0);
}

static void who_ends_hands_it_on(void **state)
{
    int first, second, status;
    pid_t a = join_apart(*state, &first), b = join_apart(*state, &second);
    assert_int_equal(holder_of(*state), a);
    assert_int_equal(write(first, "x", 1), 1);
    waitpid(a, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(holder_of(*state), b);
    assert_int_equal(write(second, "x", 1), 1);
    waitpid(b, &status, 0);
    assert_int_equal(holder_of(*state), 0);
}

static void a_dead_holder_is_replaced(void **state)
{
    int pipe, status;
    pid_t a = join_apart(*state, &pipe);
    kill(a, SIGKILL);
    waitpid(a, &status, 0);
    close(pipe);
    assert_int_equal(join(*state), 0);
    assert_int_equal(holder_of(*state), getpid());
    leave(*state);
    assert_int_equal(holder_of(*state), 0);
}

/* A gc that lives is named, and its file stays. */
static void a_gc_at_work_keeps_it(void **state)
{
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    put(*state, getppid(), host);
    assert_int_equal(join(*state), getppid());
    leave(*state);
    assert_int_equal(holder_of(*state), getppid());
    put(*state, 1, "another-host");
    assert_int_equal(join(*state), 1);
    leave(*state);
}

static bool is_locked(const char *dir)
{
    autofree char *path = mem_printf("%s/gc.pid.lock", dir);
    return access(path, F_OK) == 0;
}

/* No other gc can begin before us, and who waits with us leaves the lock file alone. */
static void who_waits_comes_next(void **state)
{
    char host[256] = "";
    int pipe, status;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    put(*state, getppid(), host);
    pid_t a = join_apart(*state, &pipe);
    assert_true(is_locked(*state));
    assert_int_equal(join(*state), getppid());
    leave(*state);
    assert_true(is_locked(*state));
    assert_int_equal(write(pipe, "x", 1), 1);
    waitpid(a, &status, 0);
    close(pipe);
    assert_int_equal(status, 0);
    assert_false(is_locked(*state));
    assert_int_equal(holder_of(*state), getppid());
}

static void the_lock_file_of_who_died_waiting_is_taken_over(void **state)
{
    char host[256] = "";
    int pipe, status;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    put(*state, getppid(), host);
    pid_t a = join_apart(*state, &pipe);
    kill(a, SIGKILL);
    waitpid(a, &status, 0);
    close(pipe);
    assert_true(is_locked(*state));
    put(*state, a, host); /* the gc has ended as well */
    assert_int_equal(join(*state), 0);
    assert_int_equal(holder_of(*state), getpid());
    assert_false(is_locked(*state));
    leave(*state);
}

/* git does not believe a file that is older than twelve hours. */
static void an_old_file_counts_as_none(void **state)
{
    autofree char *path = mem_printf("%s/gc.pid", (char *)*state);
    const struct timespec old[] = {{.tv_sec = time(NULL) - 13 * 3600},
                                   {.tv_sec = time(NULL) - 13 * 3600}};
    put(*state, 1, "another-host");
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(join(*state), 0);
    assert_int_equal(holder_of(*state), getpid());
    leave(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_takes_and_removes_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(who_ends_hands_it_on, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_dead_holder_is_replaced, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_gc_at_work_keeps_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(who_waits_comes_next, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_lock_file_of_who_died_waiting_is_taken_over,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_old_file_counts_as_none, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
