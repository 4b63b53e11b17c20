#include "sys/guard/proc_table.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/contain/namespace.h"
#include "sys/fs/file.h"
#include "sys/guard/leftover_processes.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NO_NAMESPACE = 77 };

/* A process of a name that no other has, in a folder of its own. */
static char name[16], folder[] = "/tmp/anabranch-procs-XXXXXX";
static pid_t there;

static void stay_there(int ready)
{
    if (prctl(PR_SET_NAME, name) == 0 && chdir(folder) == 0 && write(ready, "x", 1) == 1) {
        for (;;)
            (void)pause();
    }
    _exit(1);
}

static int set_up(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    struct err err = {0};
    (void)snprintf(name, sizeof(name), "p%d", (int)getpid());
    if (!mkdtemp(folder) || spawn_pipe(ends, &err))
        return -1;
    there = fork();
    if (there == 0)
        stay_there(ends[1]);
    own_close(&ends[1]);
    ssize_t n = read(ends[0], &byte, 1);
    own_close(&ends[0]);
    return there > 0 && n == 1 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    int status;
    return kill(there, SIGKILL) < 0 || waitpid(there, &status, 0) < 0 || rmdir(folder) < 0 ? -1 : 0;
}

/* Asks as another process with this name, which may be in a user namespace of its own. */
static int ask(const char *as, const char *about, const char *where, bool apart)
{
    int status;
    struct err err = {0};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        uid_t uid = geteuid();
        gid_t gid = getegid();
        bool bad = prctl(PR_SET_NAME, as) < 0 ||
                   (apart && (unshare(CLONE_NEWUSER) < 0 || namespace_map_user(uid, gid, &err)));
        _exit(bad ? NO_NAMESPACE : proc_table_program_in(about, where, "ANABRANCH_RUN"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    return WEXITSTATUS(status);
}

static void a_program_is_seen_in_its_folder(void **state)
{
    (void)state;
    assert_int_equal(proc_table_in(folder), there);
    assert_int_equal(ask("other", name, folder, false), true);
    assert_int_equal(ask("other", name, "/tmp/elsewhere", false), false);
    assert_int_equal(ask("other", "nobody", folder, false), false);
    assert_false(proc_table_program_in(name, folder, "ANABRANCH_RUN")); /* we have started it */
}

/* A process that we cannot see may exist, unless it belongs to another anabranch. */
static void in_a_namespace_it_may_be_anywhere(void **state)
{
    (void)state;
    char own[16];
    assert_int_equal(prctl(PR_GET_NAME, own), 0);
    assert_int_equal(ask("other", name, folder, true), true);
    assert_int_equal(ask("other", name, "/tmp/elsewhere", true), true);
    assert_int_equal(ask("other", "nobody", folder, true), false);
    assert_int_equal(ask(own, name, folder, true), false);
}

/* Each process of it starts the next and ends, until there is a file `stop`, or there were many. */
static const char chain[] = "i=${1:-0}; test -e stop || test $i -gt 5000 || "
                            "{ CHAIN=$CHAIN setsid sh -c \"$CHAIN\" sh $((i + 1)) & }";

static void a_chain_of_short_processes_is_seen(void **state)
{
    (void)state;
    enum { LOOKS = 20 };
    autofree char *mark = mem_printf("ANABRANCH_TEST=%s", name);
    autofree char *script = mem_printf("CHAIN=%s", chain), *stop = mem_printf("%s/stop", folder);
    autofree char *path = mem_printf("PATH=%s", getenv("PATH"));
    char *const argv[] = {"sh", "-c", (char *)chain, NULL}, *const env[] = {mark, script, path,
                                                                            NULL};
    struct spawn sp = {.argv = argv, .env = env, .dir = folder, .fds = {-1, -1, -1, -2, -2}};
    const char *const marks[] = {mark, NULL};
    struct err err = {0};
    pid_t pid;
    int status, seen = 0;
    assert_int_equal(spawn_start(&sp, &pid, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < LOOKS; i++) {
        autoprocs struct proc_table found = {0};
        proc_table_marked(&found, marks);
        seen += found.all.n > 0;
    }
    assert_int_equal(file_create(stop, "", 0, &err), 0);
    assert_int_equal(leftover_processes_end(marks, 0, NULL, &err), 0);
    assert_int_equal(unlink(stop), 0);
    assert_int_equal(seen, LOOKS);
}

static void one_that_was_killed_does_not_live(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            (void)pause();
    }
    struct proc_id id = {pid, proc_table_start(pid)}, other = {pid, id.start + 1};
    int status;
    assert_true(proc_table_lives(&id));
    assert_false(proc_table_lives(&other));
    assert_int_equal(kill(pid, SIGKILL), 0);
    /* It may be on its way between the two signs. */
    for (int ms = 0; ms < 60000 && proc_table_lives(&id); ms++)
        (void)usleep(1000);
    assert_false(proc_table_lives(&id)); /* it ends, though nobody has waited for it */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(proc_table_lives(&id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_short_processes_is_seen),
        cmocka_unit_test(one_that_was_killed_does_not_live),
        cmocka_unit_test(a_program_is_seen_in_its_folder),
        cmocka_unit_test(in_a_namespace_it_may_be_anywhere),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
