#include "sys/proc/parallel_for.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THINGS = 1000 };

struct thing {
    unsigned done;
    bool blocked; /* SIGTERM, while that was so */
    pthread_t by;
};

static void do_thing(void *ctx, size_t i)
{
    struct thing *t = &((struct thing *)ctx)[i];
    sigset_t set;
    t->done++;
    t->by = pthread_self();
    t->blocked = pthread_sigmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, SIGTERM) == 1;
}

static void each_is_done_once(void **state)
{
    (void)state;
    for (size_t n = 0; n <= THINGS; n = n < 4 ? n + 1 : n + THINGS / 4 - 1) {
        struct thing things[THINGS + 1] = {0};
        parallel_for(n, do_thing, things);
        for (size_t i = 0; i <= THINGS; i++)
            assert_int_equal(things[i].done, i < n);
    }
}

/* A handler that was made for a program without threads is run by the one that it knows. */
static void signals_are_for_the_caller(void **state)
{
    static struct thing things[THINGS];
    sigset_t after;
    (void)state;
    parallel_for(THINGS, do_thing, things);
    for (size_t i = 0; i < THINGS; i++)
        assert_int_equal(things[i].blocked, !pthread_equal(things[i].by, pthread_self()));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_done_once),
        cmocka_unit_test(signals_are_for_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
