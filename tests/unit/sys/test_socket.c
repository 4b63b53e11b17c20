#include "sys/proc/socket.h"

#include "base/mem.h"
#include "base/own.h"
#include "folder.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "sys/proc/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Someone who listens, someone who talks, and the end at which he is heard. */
struct line {
    int listener, talker, hearer;
};

static void connect_line(struct line *l, const char *dir)
{
    *l = (struct line){-1, -1, -1};
    assert_int_equal(socket_listen(dir, "s.sock", &l->listener, NULL), 0);
    assert_int_equal(socket_connect(dir, "s.sock", &l->talker, NULL), 0);
    assert_true(socket_wait(l->listener, 5000));
    l->hearer = socket_accept(l->listener);
    assert_true(l->hearer >= 0);
}

static void cut(struct line *l)
{
    own_close(&l->listener);
    own_close(&l->talker);
    own_close(&l->hearer);
}

static void test_talk(void **state)
{
    const char *folder = *state;
    autobuf struct buf said = BUF_INIT;
    autofree char *path = mem_printf("%s/s.sock", folder);
    struct line l;
    struct stat st;
    connect_line(&l, folder);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(socket_take(l.hearer, 100, &said)); /* nothing has come, and nobody has gone */
    assert_int_equal(said.len, 0);
    assert_false(socket_wait(l.hearer, 0));
    assert_true(socket_send(l.talker, "hello", 5));
    assert_true(socket_wait(l.hearer, 5000));
    assert_true(socket_take(l.hearer, 3, &said));
    assert_string_equal(said.s, "hel");
    assert_true(socket_take(l.hearer, 100, &said));
    assert_string_equal(said.s, "hello");
    own_close(&l.talker);
    assert_true(socket_wait(l.hearer, 5000));
    assert_false(socket_take(l.hearer, 100, &said));
    assert_int_equal(socket_accept(l.listener), -1);
    cut(&l);
}

/* We do not wait for a client that does not read. */
static void test_full(void **state)
{
    const char *folder = *state;
    struct line l;
    autofree char *much = mem_alloc(1 << 20);
    bool taken = true;
    connect_line(&l, folder);
    for (int i = 0; i < 100 && taken; i++)
        taken = socket_send(l.talker, much, 1 << 20);
    assert_false(taken);
    cut(&l);
}

/* One that is left of a process that was killed is in nobody's way. */
static void test_left(void **state)
{
    const char *folder = *state;
    struct line l;
    struct err err = {0};
    int fd = -1;
    connect_line(&l, folder);
    cut(&l);
    assert_int_equal(socket_connect(folder, "s.sock", &fd, &err), -1);
    assert_int_equal(err.errnum, ECONNREFUSED);
    assert_int_equal(socket_connect(folder, "other.sock", &fd, &err), -1);
    assert_int_equal(err.errnum, ENOENT);
    connect_line(&l, folder);
    cut(&l);
}

static void test_long_name(void **state)
{
    const char *folder = *state;
    autofree char *deep = mem_printf("%s/%0100d/%0100d", folder, 1, 2);
    struct line l;
    assert_int_equal(dirs_make(deep, NULL), 0);
    connect_line(&l, deep);
    assert_true(socket_send(l.talker, "x", 1));
    assert_true(socket_wait(l.hearer, 5000));
    cut(&l);
}

/* Clients on a loop */

struct heard {
    struct loop *loop;
    int fd, calls;
    struct buf text;
};

static void on_readable(void *ctx)
{
    struct heard *h = ctx;
    h->calls++;
    if (h->calls < 3) /* what is not taken is told again */
        return;
    assert_true(socket_take(h->fd, 100, &h->text));
    loop_stop(h->loop);
}

static void test_readable(void **state)
{
    const char *folder = *state;
    struct line l;
    connect_line(&l, folder);
    struct heard h = {.loop = loop_new(), .fd = l.hearer, .text = BUF_INIT};
    struct watch *w = loop_readable(h.loop, l.hearer, on_readable, &h);
    assert_true(socket_send(l.talker, "word", 4));
    assert_int_equal(loop_run(h.loop, NULL), 0);
    assert_int_equal(h.calls, 3);
    assert_string_equal(h.text.s, "word");
    watch_free(w);
    loop_free(h.loop);
    buf_done(&h.text);
    cut(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_talk, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_full, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_left, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_long_name, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_readable, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
