#include "base/mem.h"

#include "base/own.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_zeroed(void **state)
{
    (void)state;
    autofree char *a = mem_alloc(100), *b = mem_array(10, 10);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(a[i], 0);
        assert_int_equal(b[i], 0);
    }
}

static void test_nothing_is_something(void **state)
{
    (void)state;
    autofree void *a = mem_alloc(0), *b = mem_array(0, 8), *c = mem_grow(NULL, 0, 8);
    autofree char *d = mem_dup(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_string_equal(d, "");
}

static void test_grow_keeps(void **state)
{
    (void)state;
    autofree int *v = mem_grow(NULL, 2, sizeof(*v));
    v[0] = 1;
    v[1] = 2;
    v = mem_grow(v, 5000, sizeof(*v));
    v[4999] = 3;
    assert_int_equal(v[0] + v[1] + v[4999], 6);
}

static void test_copies(void **state)
{
    (void)state;
    autofree char *dup = mem_dup("a\0b", 3), *str = mem_str("abc"), *f = mem_printf("%d%s", 1, "x");
    assert_memory_equal(dup, "a\0b", 4);
    assert_string_equal(str, "abc");
    assert_string_equal(f, "1x");
}

static void overflow_array(void)
{
    free(mem_array(SIZE_MAX / 2, 4));
}

static void overflow_grow(void)
{
    free(mem_grow(NULL, SIZE_MAX / 2, 4));
}

/* In a process of its own: whether it ends by abort(). */
static bool aborts(void (*call)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO); /* the sanitizer would report what is tested here */
        call();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_overflow_ends_the_process(void **state)
{
    (void)state;
    assert_true(aborts(overflow_array));
    assert_true(aborts(overflow_grow));
}

static void test_what_is_closed_is_not_closed_again(void **state)
{
    (void)state;
    int first = dup(STDOUT_FILENO);
    own_close(&first);
    assert_int_equal(first, -1);
    int other = dup(STDOUT_FILENO); /* gets the same number */
    own_close(&first);
    assert_true(fcntl(other, F_GETFD) >= 0);
    own_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_nothing_is_something),
        cmocka_unit_test(test_grow_keeps),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_overflow_ends_the_process),
        cmocka_unit_test(test_what_is_closed_is_not_closed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
