#include "sys/proc/spawn.h"

#include "base/own.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs a shell line with descriptor 3 for writing, and returns what it wrote there. */
static void run(struct spawn *sp, int reader, char *text, size_t size)
{
    pid_t pid;
    int status;
    struct err err = {0};
    if (spawn_start(sp, &pid, &err))
        fail_msg("%s", err.msg);
    own_close(&sp->fds[3]);
    ssize_t n = read(reader, text, size - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Our own descriptors may have any numbers, also the numbers that the child's get. */
static void any_numbers_are_passed(void **state)
{
    (void)state;
    for (int high = 3; high < 90; high++) {
        int ends[2];
        char *const argv[] = {"sh", "-c", "echo right >&3", NULL};
        char text[100];
        assert_int_equal(spawn_pipe(ends, NULL), 0);
        int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, high);
        int other = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, high + 1);
        assert_true(moved >= high && other > high);
        own_close(&ends[1]);
        struct spawn sp = {.argv = argv, .fds = {SPAWN_NULL, other, other, moved, SPAWN_NONE}};
        run(&sp, ends[0], text, sizeof(text));
        assert_string_equal(text, "right\n");
        own_close(&other);
        own_close(&ends[0]);
    }
}

static void nothing_else_is_inherited(void **state)
{
    (void)state;
    int ends[2];
    char *const argv[] = {"sh", "-c",
                          "for fd in 4 5 6 7 8 9; do"
                          " if (: >&$fd) 2>/dev/null; then echo $fd; fi; done >&3",
                          NULL};
    char text[100];
    assert_int_equal(spawn_pipe(ends, NULL), 0);
    struct spawn sp = {.argv = argv,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, ends[1], SPAWN_NONE}};
    run(&sp, ends[0], text, sizeof(text));
    assert_string_equal(text, "");
    own_close(&ends[0]);
}

static void folder_and_session_are_set(void **state)
{
    (void)state;
    int ends[2];
    char *const argv[] = {"sh", "-c", "pwd >&3; ps -o sid= -p $$ | tr -d ' ' >&3; echo $$ >&3",
                          NULL};
    char text[200], expected[200];
    assert_int_equal(spawn_pipe(ends, NULL), 0);
    struct spawn sp = {.argv = argv,
                       .dir = "/",
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, ends[1], SPAWN_NONE},
                       .new_session = true};
    pid_t pid;
    int status;
    assert_int_equal(spawn_start(&sp, &pid, NULL), 0);
    own_close(&sp.fds[3]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ssize_t n = read(ends[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    (void)snprintf(expected, sizeof(expected), "/\n%d\n%d\n", (int)pid, (int)pid);
    assert_string_equal(text, expected);
    own_close(&ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_numbers_are_passed),
        cmocka_unit_test(nothing_else_is_inherited),
        cmocka_unit_test(folder_and_session_are_set),
    };
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
