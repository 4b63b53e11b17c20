#include "sys/contain/clone_process.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

enum { STACK = 256 << 10 };

struct command {
    char *const *argv;
    int error;
};

static int execute(void *arg)
{
    struct command *cmd = arg;
    (void)execvp(cmd->argv[0], cmd->argv);
    cmd->error = errno;
    _exit(7);
}

/* Returns the exit code of the command. */
static int run(struct command *cmd)
{
    pid_t pid;
    int status;
    struct err err = {0};
    if (clone_to_exec(execute, cmd, STACK, &pid, &err)) {
        print_message("%s\n", err.msg); /* a sanitizer, or no Linux */
        skip();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_command_runs(void **state)
{
    (void)state;
    char *const argv[] = {"sh", "-c", "exit 5", NULL};
    struct command cmd = {.argv = argv};
    assert_int_equal(run(&cmd), 5);
    assert_int_equal(cmd.error, 0);
}

static void an_error_is_seen_in_our_memory(void **state)
{
    (void)state;
    char *const argv[] = {"/no/such/program", NULL};
    struct command cmd = {.argv = argv};
    assert_int_equal(run(&cmd), 7);
    assert_int_equal(cmd.error, ENOENT);
}

/* execvp() then copies the arguments. */
static void a_script_without_a_first_line_gets_many_arguments(void **state)
{
    enum { N = 5000 };
    static char *argv[N + 2];
    static const char script[] = "test $# -eq 5000 && exit 9\n";
    autofree char *path = mem_printf("%s/script", (const char *)*state);
    assert_int_equal(file_create(path, script, strlen(script), NULL), 0);
    assert_int_equal(chmod(path, 0700), 0);
    argv[0] = path;
    for (int i = 1; i <= N; i++)
        argv[i] = "x";
    struct command cmd = {.argv = argv};
    assert_int_equal(run(&cmd), 9);
}

static void our_signals_are_as_before(void **state)
{
    (void)state;
    char *const argv[] = {"true", NULL};
    struct command cmd = {.argv = argv};
    sigset_t one, after;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    assert_int_equal(sigprocmask(SIG_SETMASK, &one, NULL), 0);
    assert_int_equal(run(&cmd), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
    assert_int_equal(sigismember(&after, SIGUSR2), 1);
    assert_int_equal(sigismember(&after, SIGUSR1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_runs),
        cmocka_unit_test(an_error_is_seen_in_our_memory),
        cmocka_unit_test_setup_teardown(a_script_without_a_first_line_gets_many_arguments,
                                        make_folder, remove_folder),
        cmocka_unit_test(our_signals_are_as_before),
    };
    return cmocka_run_group_tests_name("clone_to_exec", tests, NULL, NULL);
}
