#include "sys/proc/loop_capture.h"

#include "base/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

struct came {
    struct loop *loop;
    struct loop_proc *proc;
    int status;
    struct buf out;
};

static void on_end(void *ctx, int status, const struct buf *out)
{
    struct came *c = ctx;
    c->status = status;
    buf_add(&c->out, out->s, out->len);
    loop_stop(c->loop);
}

/* Runs a line of shell, of whose output so much is wanted. */
static void run(struct came *c, const char *line, size_t max)
{
    char *const argv[] = {"/bin/sh", "-c", (char *)line, NULL};
    struct err err = {0};
    *c = (struct came){.loop = loop_new(), .status = -1, .out = BUF_INIT};
    assert_int_equal(loop_capture_start(c->loop, argv, NULL, max, on_end, c, &c->proc, &err), 0);
}

static void done(struct came *c)
{
    loop_free(c->loop);
    buf_done(&c->out);
}

static void test_output(void **state)
{
    struct came c;
    (void)state;
    run(&c, "cat; echo one; echo ignored >&2; echo two; exit 7", 1000);
    assert_int_equal(loop_run(c.loop, NULL), 0);
    assert_int_equal(c.status, 7);
    assert_string_equal(c.out.s, "one\ntwo\n");
    done(&c);
}

static void test_signal(void **state)
{
    struct came c;
    (void)state;
    run(&c, "kill -KILL $$", 1000);
    assert_int_equal(loop_run(c.loop, NULL), 0);
    assert_int_equal(c.status, 128 + 9);
    done(&c);
}

/* Not much more than is wanted is kept. */
static void test_much(void **state)
{
    struct came c;
    (void)state;
    run(&c, "i=0; while [ $i -lt 4000 ]; do printf '%0100d' 0; i=$((i+1)); done", 100000);
    assert_int_equal(loop_run(c.loop, NULL), 0);
    assert_int_equal(c.status, 0);
    assert_true(c.out.len >= 100000 && c.out.len < 200000);
    done(&c);
}

static void test_cancel(void **state)
{
    struct came c;
    (void)state;
    run(&c, "sleep 1000", 1000);
    loop_capture_cancel(c.proc); /* it would never return, were the child not ended */
    assert_int_equal(c.status, -1);
    loop_capture_cancel(NULL);
    done(&c);
}

static void test_missing(void **state)
{
    char *const argv[] = {"/nonexistent/program", NULL};
    struct loop *loop = loop_new();
    struct loop_proc *proc = NULL;
    struct err err = {0};
    (void)state;
    assert_int_equal(loop_capture_start(loop, argv, NULL, 10, on_end, NULL, &proc, &err), -1);
    assert_null(proc);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output), cmocka_unit_test(test_signal),  cmocka_unit_test(test_much),
        cmocka_unit_test(test_cancel), cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
