#include "sys/clock.h"
#include "sys/proc/capture_many.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOBS = 12 };

static void add(struct proc_job *job, const char *script)
{
    *job = (struct proc_job)PROC_JOB_INIT;
    strv_pushl(&job->argv, "sh", "-c", script, NULL);
}

static void all_are_run_and_say_what_they_say(void **state)
{
    struct proc_job jobs[JOBS];
    struct err err = {0};
    (void)state;
    for (int i = 0; i < JOBS; i++) {
        add(&jobs[i], "echo $N; echo error >&2; exit $N");
        strv_pushf(&jobs[i].env, "N=%d", i);
    }
    assert_int_equal(capture_many(jobs, JOBS, &err), 0);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(strtol(jobs[i].out.s, NULL, 10), i);
        assert_int_equal(jobs[i].status, i);
        assert_string_equal(jobs[i].errout.s, "error\n");
        proc_job_done(&jobs[i]);
    }
}

/* Each waits for the other by a pipe of the file system. */
static void two_run_at_once(void **state)
{
    char folder[] = "/tmp/proc-XXXXXX";
    struct proc_job jobs[2];
    struct err err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    add(&jobs[0], "mkfifo pipe.new && mv pipe.new pipe && echo hello >pipe");
    add(&jobs[1], "until test -p pipe; do sleep 0.01; done; cat pipe; rm pipe");
    jobs[0].dir = jobs[1].dir = folder;
    assert_int_equal(capture_many(jobs, 2, &err), 0);
    assert_string_equal(jobs[1].out.s, "hello\n");
    proc_job_done(&jobs[0]);
    proc_job_done(&jobs[1]);
    assert_int_equal(rmdir(folder), 0);
}

static void a_signal_is_a_status(void **state)
{
    struct proc_job job;
    (void)state;
    add(&job, "kill -TERM $$");
    assert_int_equal(capture_many(&job, 1, NULL), 0);
    assert_int_equal(job.status, 128 + 15);
    proc_job_done(&job);
}

static void one_that_is_not_there_ends_the_others(void **state)
{
    struct proc_job jobs[2];
    struct err err = {0};
    int64_t begin = clock_mono();
    (void)state;
    add(&jobs[0], "exec sleep 60");
    jobs[1] = (struct proc_job)PROC_JOB_INIT;
    strv_push(&jobs[1].argv, "no-such-program-at-all");
    assert_int_equal(capture_many(jobs, 2, &err), -1);
    assert_non_null(strstr(err.msg, "no-such-program-at-all"));
    assert_true(clock_mono() - begin < 30000);
    proc_job_done(&jobs[0]);
    proc_job_done(&jobs[1]);
}

static void none_is_fine(void **state)
{
    (void)state;
    assert_int_equal(capture_many(NULL, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_run_and_say_what_they_say),
        cmocka_unit_test(two_run_at_once),
        cmocka_unit_test(a_signal_is_a_status),
        cmocka_unit_test(one_that_is_not_there_ends_the_others),
        cmocka_unit_test(none_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
