#include "sys/proc/capture.h"

#include "sys/clock.h"
#include "sys/guard/proc_table.h"
#include "sys/interrupt_child.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int capture(const char *script, size_t max, struct buf *out, struct buf *errout, int *status,
                   struct err *err)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    return proc_capture(argv, NULL, max, out, errout, status, err);
}

static void both_streams_are_captured(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status = -1;
    assert_int_equal(capture("echo one; echo two >&2; exit 7", 100, &out, &errout, &status, NULL),
                     0);
    assert_string_equal(out.s, "one\n");
    assert_string_equal(errout.s, "two\n");
    assert_int_equal(status, 7);
}

static void much_on_both_streams_does_not_block(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status = -1;
    const char *script = "i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123;"
                         " echo 0123456789012345678901234567890123 >&2; i=$((i+1)); done";
    assert_int_equal(capture(script, 1 << 20, &out, &errout, &status, NULL), 0);
    assert_int_equal(out.len, 4000 * 35);
    assert_int_equal(errout.len, 64 << 10);
    assert_int_equal(status, 0);
}

static void a_signal_is_128_and_its_number(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    int status = -1;
    assert_int_equal(capture("kill -TERM $$", 100, &out, NULL, &status, NULL), 0);
    assert_int_equal(status, 143);
}

static void too_much_output_ends_the_child(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    int status = -1;
    assert_int_equal(capture("yes", 1000, &out, NULL, &status, &err), -1);
    assert_non_null(strstr(err.msg, "more than was expected"));
    assert_int_equal(out.len, 1000);
}

static void a_program_that_is_not_there_is_told(void **state)
{
    (void)state;
    char *const argv[] = {"no-such-program-anywhere", NULL};
    struct err err = {0};
    int status;
    assert_int_equal(proc_capture(argv, NULL, 100, NULL, NULL, &status, &err), -1);
    assert_int_equal(err.errnum, ENOENT);
    assert_non_null(strstr(err.msg, "no-such-program-anywhere"));
}

static void standard_input_is_empty(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    int status = -1;
    assert_int_equal(capture("cat; echo end", 100, &out, NULL, &status, NULL), 0);
    assert_string_equal(out.s, "end\n");
}

static void the_environment_is_the_given_one(void **state)
{
    (void)state;
    char *const argv[] = {"sh", "-c", "echo \"$ONE:$HOME\"", NULL};
    char *const env[] = {"ONE=1", "PATH=/usr/bin:/bin", NULL};
    autobuf struct buf out = BUF_INIT;
    int status = -1;
    assert_int_equal(proc_capture(argv, env, 100, &out, NULL, &status, NULL), 0);
    assert_string_equal(out.s, "1:\n");
}

static void await_end(pid_t pid)
{
    struct proc_id id = {pid, proc_table_start(pid)};
    struct timespec pause = {.tv_nsec = 5000000};
    for (int64_t end = clock_mono() + 10000; proc_table_signal(&id, 0);
         (void)nanosleep(&pause, NULL))
        assert_true(clock_mono() < end);
}

/* A filter of git's, say. */
static void what_a_child_started_ends_with_it(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    int status = -1;
    setenv("ANABRANCH_PATIENCE", "1s", 1);
    assert_int_equal(capture("sleep 1000 & echo $!; wait", 100, &out, NULL, &status, &err), -1);
    assert_non_null(strstr(err.msg, "did not end"));
    await_end((pid_t)strtol(out.s, NULL, 10));
    buf_cut(&out, 0);
    assert_int_equal(capture("sleep 1000 & echo $!", 100, &out, NULL, &status, &err), -1);
    await_end((pid_t)strtol(out.s, NULL, 10));
    unsetenv("ANABRANCH_PATIENCE");
}

/* git takes its locks away when it is asked to end, and not when it is made to. */
static void a_child_is_asked_before_it_is_killed(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    int status = -1;
    setenv("ANABRANCH_PATIENCE", "1s", 1);
    assert_int_equal(
        capture("trap 'exit 9' TERM; sleep 1000 & wait", 100, &out, NULL, &status, &err), -1);
    assert_int_equal(status, 9);
    unsetenv("ANABRANCH_PATIENCE");
}

static void ignore(int signal)
{
    (void)signal;
}

/* Sends a signal to us, twice, and what was begun before that is not young any more. */
static pid_t ask_twice(int signal)
{
    autobuf struct buf command = BUF_INIT;
    buf_addf(&command, "sleep 1.2; kill -%d %d; sleep 0.2; kill -%d %d", signal, (int)getpid(),
             signal, (int)getpid());
    char *const argv[] = {"sh", "-c", command.s, NULL};
    struct spawn sp = {.argv = argv,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE}};
    pid_t pid;
    assert_int_equal(spawn_start(&sp, &pid, NULL), 0);
    return pid;
}

/* The last one: from then on nothing is waited for long. */
static void who_is_asked_twice_does_not_wait(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    int status = -1;
    int64_t begun = clock_mono();
    struct sigaction sa = {.sa_handler = ignore};
    assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
    interrupt_by(SIGUSR1);
    pid_t asker = ask_twice(SIGUSR1);
    assert_int_equal(capture("sleep 60", 100, &out, NULL, &status, NULL), 0);
    assert_int_equal(status, 143);
    assert_int_equal(capture("sleep 60", 100, &out, NULL, &status, &err), -1);
    assert_non_null(strstr(err.msg, "did not end within 3 s"));
    assert_true(clock_mono() - begun < 20000);
    assert_int_equal(waitpid(asker, &status, 0), asker);
    assert_int_equal(capture("exit 3", 100, &out, NULL, &status, NULL), 0);
    assert_int_equal(status, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_streams_are_captured),
        cmocka_unit_test(much_on_both_streams_does_not_block),
        cmocka_unit_test(a_signal_is_128_and_its_number),
        cmocka_unit_test(too_much_output_ends_the_child),
        cmocka_unit_test(a_program_that_is_not_there_is_told),
        cmocka_unit_test(standard_input_is_empty),
        cmocka_unit_test(the_environment_is_the_given_one),
        cmocka_unit_test(what_a_child_started_ends_with_it),
        cmocka_unit_test(a_child_is_asked_before_it_is_killed),
        cmocka_unit_test(who_is_asked_twice_does_not_wait),
    };
    return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
