#include "sys/guard/peer.h"

#include "base/mem.h"

#include "base/own.h"
#include "folder.h"
#include "sys/proc/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        pid_t parent; /* -1: it cannot be read */
    } cases[] = {
        {"Name:\tbash\nUmask:\t0022\nPid:\t12\nPPid:\t7\nNSpid:\t12\n", "bash", 7},
        {"Name:\tPPid: 3\nPPid:\t9\n", "PPid: 3", 9},
        {"Name:\tanabranch-guard\nPPid:\t0\n", PEER_GUARD, 0},
        {"Name:\ta name that is longer than they are\nPPid:\t1\n", "a name that is ", 1},
        {"Pid:\t12\nPPid:\t7\n", "", -1},
        {"Name:\tbash\n", "", -1},
        {"", "", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct peer_status s = {.parent = -1};
        assert_int_equal(peer_parse(cases[i].text, &s), cases[i].parent >= 0);
        assert_string_equal(s.name, cases[i].name);
        assert_int_equal(s.parent, cases[i].parent);
    }
}

/* A child that connects, below another that has the name, and what we see of it. */
static enum peer_place look_at_child(const char *folder, const char *name, bool ends)
{
    int listener, status;
    assert_int_equal(socket_listen(folder, "s.sock", &listener, NULL), 0);
    pid_t parent = fork();
    if (parent == 0) {
        (void)prctl(PR_SET_NAME, name, 0, 0, 0);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        pid_t child = fork();
        int fd;
        if (child == 0) {
            if (fork()) /* it is an orphan */
                _exit(0);
            (void)setsid();
            (void)prctl(PR_SET_NAME, "sh", 0, 0, 0);
            (void)socket_connect(folder, "s.sock", &fd, NULL);
            (void)socket_wait(fd, ends ? 0 : 5000);
            _exit(0);
        }
        while (waitpid(-1, NULL, 0) > 0)
            ;
        _exit(0);
    }
    assert_true(socket_wait(listener, 5000));
    if (ends)
        assert_int_equal(waitpid(parent, &status, 0), parent);
    autoclose int fd = socket_accept(listener);
    autopeer struct peer peer = PEER_INIT;
    peer_look(fd, &peer);
    own_close(&fd);
    own_close(&listener);
    if (!ends)
        assert_int_equal(waitpid(parent, &status, 0), parent);
    return peer.place;
}

static void test_look(void **state)
{
    assert_int_equal(look_at_child(*state, "bash", false), PEER_OUTSIDE);
    assert_int_equal(look_at_child(*state, PEER_GUARD, false), PEER_GUARDED);
    assert_int_equal(look_at_child(*state, PEER_GUARD, true), PEER_GONE);
    assert_int_equal(look_at_child(*state, "bash", true), PEER_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test_setup_teardown(test_look, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
