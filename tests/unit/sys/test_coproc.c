#include "sys/proc/coproc.h"

#include "sys/proc/spawn.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void start(struct coproc *c, const char *script)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    struct err err = {0};
    coproc_init(c);
    assert_int_equal(coproc_start(c, argv, NULL, SPAWN_NONE, &err), 0);
}

static void lines_and_bytes_are_told_apart(void **state)
{
    (void)state;
    struct coproc c;
    autobuf struct buf line = BUF_INIT, bytes = BUF_INIT;
    struct err err = {0};
    start(&c, "read x; printf '%s 3\\nabcnext\\n' \"$x\"");
    assert_int_equal(coproc_write(&c, "what\n", 5, &err), 0);
    assert_int_equal(coproc_read_line(&c, &line, &err), 0);
    assert_int_equal(coproc_read(&c, 3, &bytes, &err), 0);
    assert_string_equal(line.s, "what 3");
    assert_string_equal(bytes.s, "abc");
    coproc_stop(&c);
    assert_false(coproc_running(&c));
}

/* The rest of an answer to the last question is no answer to the next. */
static void one_that_dies_half_way_leaves_nothing(void **state)
{
    (void)state;
    struct coproc c;
    autobuf struct buf line = BUF_INIT;
    struct err err = {0};
    start(&c, "printf half");
    assert_int_equal(coproc_read_line(&c, &line, &err), -1);
    coproc_stop(&c);
    start(&c, "echo whole");
    assert_int_equal(coproc_read_line(&c, &line, &err), 0);
    assert_string_equal(line.s, "whole");
    coproc_stop(&c);
}

static void one_that_stands_still_is_not_waited_for(void **state)
{
    (void)state;
    struct coproc c;
    autobuf struct buf line = BUF_INIT;
    struct err err = {0};
    start(&c, "echo $$; kill -STOP $$");
    assert_int_equal(coproc_read_line(&c, &line, &err), 0);
    pid_t pid = (pid_t)strtol(line.s, NULL, 10);
    alarm(30); /* the test would wait forever as well */
    coproc_stop(&c);
    alarm(0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void one_that_gives_no_answer_is_asked_to_end(void **state)
{
    (void)state;
    struct coproc c;
    autobuf struct buf line = BUF_INIT;
    struct err err = {0};
    char path[] = "/tmp/test_coproc.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char script[128];
    (void)snprintf(script, sizeof(script), "trap 'rm %s; exit' TERM; sleep 1000 & wait", path);
    setenv("ANABRANCH_PATIENCE", "1s", 1);
    start(&c, script);
    assert_int_equal(coproc_read_line(&c, &line, &err), -1);
    assert_int_equal(err.errnum, ETIMEDOUT);
    coproc_stop(&c);
    assert_int_equal(access(path, F_OK), -1);
    unsetenv("ANABRANCH_PATIENCE");
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_bytes_are_told_apart),
        cmocka_unit_test(one_that_dies_half_way_leaves_nothing),
        cmocka_unit_test(one_that_stands_still_is_not_waited_for),
        cmocka_unit_test(one_that_gives_no_answer_is_asked_to_end),
    };
    return cmocka_run_group_tests_name("coproc", tests, NULL, NULL);
}
