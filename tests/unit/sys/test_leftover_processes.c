#include "sys/guard/leftover_processes.h"

#include "base/own.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char run_mark[64], run_id[32];

/* Starts a shell line with the mark of a run; returns when it has written to descriptor 3. */
static pid_t start(char *line, char *mark)
{
    char *const argv[] = {"sh", "-c", line, NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", mark, "ANABRANCH_TASK=t", NULL};
    int ends[2];
    pid_t pid;
    struct err err = {0};
    assert_int_equal(spawn_pipe(ends, &err), 0);
    struct spawn sp = {.argv = argv,
                       .env = env,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, ends[1], SPAWN_NONE},
                       .new_session = true};
    if (spawn_start(&sp, &pid, &err))
        fail_msg("%s", err.msg);
    own_close(&ends[1]);
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 30000), 1);
    own_close(&ends[0]);
    return pid;
}

static void reap(pid_t pid, int signal)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, signal);
}

/* Sessions of their own and deaf to polite signals: found by the mark, and only those with it. */
static void all_of_a_run_end(void **state)
{
    (void)state;
    autostrv struct strv names = {0};
    struct err err = {0};
    pid_t mine =
        start("trap '' TERM HUP INT; setsid sleep 4411 & echo >&3; exec 3>&-; wait", run_mark);
    pid_t other = start("echo >&3; exec sleep 4412", "ANABRANCH_RUN=other");
    if (leftover_processes_end_run(run_id, 0, &names, &err))
        fail_msg("%s", err.msg);
    reap(mine, SIGKILL);
    autoprocs struct proc_table left = {0};
    const char *const marks[] = {run_mark, NULL};
    proc_table_marked(&left, marks);
    assert_int_equal(left.all.n, 0);
    assert_int_equal(names.n, 2);
    assert_int_equal(kill(other, SIGKILL), 0);
    reap(other, SIGKILL);
}

static void every_mark_counts(void **state)
{
    (void)state;
    struct err err = {0};
    pid_t mine = start("echo >&3; exec sleep 4413", run_mark);
    const char *const wrong[] = {run_mark, "ANABRANCH_TASK=other", NULL};
    const char *const right[] = {run_mark, "ANABRANCH_TASK=t", NULL};
    assert_int_equal(leftover_processes_end(wrong, 0, NULL, &err), 0);
    assert_int_equal(kill(mine, 0), 0);
    assert_int_equal(leftover_processes_end(right, 0, NULL, &err), 0);
    reap(mine, SIGKILL);
}

static void what_ends_by_itself_is_not_killed(void **state)
{
    (void)state;
    autostrv struct strv names = {0};
    struct err err = {0};
    pid_t mine = start("echo >&3; exec sleep 0.2", run_mark);
    assert_int_equal(leftover_processes_end_run(run_id, 30000, &names, &err), 0);
    reap(mine, 0);
    assert_int_equal(names.n, 0);
}

static void a_bomb_is_beaten(void **state)
{
    (void)state;
    struct err err = {0};
    /* Each generation forks the next and ends, in a session of its own, 4000 deep at most. */
    pid_t mine = start("f() { test $1 -gt 4000 && exit; (f $(($1 + 1)) &) ; exit; };"
                       " (f 1 &); (f 2 &); echo >&3; exec 3>&-; sleep 4414",
                       run_mark);
    assert_int_equal(leftover_processes_end_run(run_id, 0, NULL, &err), 0);
    reap(mine, SIGKILL);
}

static void a_signal_does_not_reach_a_later_one(void **state)
{
    (void)state;
    pid_t mine = start("echo >&3; exec sleep 4415", run_mark);
    struct proc_id wrong = {mine, proc_table_start(mine) - 1},
                   right = {mine, proc_table_start(mine)};
    assert_false(proc_table_signal(&wrong, SIGKILL));
    assert_true(proc_table_signal(&right, 0));
    assert_true(proc_table_signal(&right, SIGKILL));
    reap(mine, SIGKILL);
    assert_false(proc_table_signal(&right, 0));
}

int main(void)
{
    (void)snprintf(run_id, sizeof(run_id), "test-%d", (int)getpid());
    (void)snprintf(run_mark, sizeof(run_mark), "ANABRANCH_RUN=%s", run_id);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_run_end),
        cmocka_unit_test(every_mark_counts),
        cmocka_unit_test(what_ends_by_itself_is_not_killed),
        cmocka_unit_test(a_bomb_is_beaten),
        cmocka_unit_test(a_signal_does_not_reach_a_later_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
