/* Several processes that open a store at the same time and add an event each. */
#ifndef TESTS_UNIT_STORE_OPENERS_H
#define TESTS_UNIT_STORE_OPENERS_H

#include "store/store.h"

#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 8 };

static inline int open_and_add(const char *dir)
{
    struct store *store = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    int rc = store_open(&store, dir, true, NULL) || store_add_event(store, &ev, NULL);
    store_close(store);
    return rc;
}

static inline void open_at_once(const char *dir)
{
    pid_t pids[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(open_and_add(dir) ? 1 : 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

#endif
