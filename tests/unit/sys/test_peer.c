#include "sys/guard/peer.h"

#include "base/mem.h"

#include "base/own.h"
#include "folder.h"
#include "sys/own_fd.h"
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
static enum peer_place lookup_at_child(const char *folder, const char *name, bool ends)
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
            (void)socket_wait(fd, ends ? 0 : 60000);
            _exit(0);
        }
        while (waitpid(-1, NULL, 0) > 0)
            ;
        _exit(0);
    }
    assert_true(socket_wait(listener, 60000));
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
    assert_int_equal(lookup_at_child(*state, "bash", false), PEER_OUTSIDE);
    assert_int_equal(lookup_at_child(*state, PEER_GUARD, false), PEER_GUARDED);
    assert_int_equal(lookup_at_child(*state, PEER_GUARD, true), PEER_GONE);
    assert_int_equal(lookup_at_child(*state, "bash", true), PEER_GONE);
}

enum { CHAIN = 20, CHAINS = 20, LOOKS = 50 };

/* Starts a process and one below it, and so on; the last one connects. The others end when the pipe
 * `hold` is closed, all at once. Each has the guard's name above it. */
static pid_t start_chain(const char *folder, const int *hold)
{
    pid_t top = fork();
    if (top != 0)
        return top;
    (void)prctl(PR_SET_NAME, PEER_GUARD, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    own_close(&(int){hold[1]});
    bool is_top = true;
    int fd;
    char byte;
    for (int i = 0; i < CHAIN && fork() == 0; i++) {
        (void)prctl(PR_SET_NAME, "sh", 0, 0, 0);
        is_top = false;
        if (i == CHAIN - 1) {
            (void)socket_connect(folder, "s.sock", &fd, NULL);
            (void)socket_wait(fd, 60000);
            _exit(0);
        }
    }
    (void)!read(hold[0], &byte, 1);
    while (is_top && waitpid(-1, NULL, 0) > 0)
        ;
    _exit(0);
}

/* Its ancestors end while we climb: it is still below the guard. */
static void test_ancestors_end(void **state)
{
    int listener, status, found[PEER_GONE + 1] = {0};
    assert_int_equal(socket_listen(*state, "s.sock", &listener, NULL), 0);
    for (int i = 0; i < CHAINS; i++) {
        int hold[2];
        assert_int_equal(pipe(hold), 0);
        pid_t top = start_chain(*state, hold);
        own_close(&hold[0]);
        assert_true(socket_wait(listener, 60000));
        autoclose int fd = socket_accept(listener);
        own_close(&hold[1]);
        for (int k = 0; k < LOOKS; k++) {
            autopeer struct peer peer = PEER_INIT;
            peer_look(fd, &peer);
            found[peer.place]++;
        }
        own_close(&fd);
        assert_int_equal(waitpid(top, &status, 0), top);
    }
    own_close(&listener);
    assert_int_equal(found[PEER_GUARDED], CHAINS * LOOKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test_setup_teardown(test_look, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_ancestors_end, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
