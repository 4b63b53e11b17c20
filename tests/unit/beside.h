/*
 * A process beside a test that removes a folder whenever it is empty, as `git gc` and `git
 * worktree prune` do with some of git's folders. It removes the folder again and again, with
 * pauses in which the test can use it. On a slow disk, the kernel may let both processes have the
 * folder in turn, and each attempt of the test would fail; so the pause is many times as long as
 * the removal took.
 */
#ifndef TESTS_UNIT_BESIDE_H
#define TESTS_UNIT_BESIDE_H

#include "sys/clock.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t begin_sweeping(const char *folder)
{
    pid_t test = getpid(), pid = fork();
    while (pid == 0 && getppid() == test) {
        int64_t began = clock_mono();
        (void)rmdir(folder);
        (void)usleep(500 + 20000 * (useconds_t)(clock_mono() - began));
    }
    if (pid == 0)
        _exit(0);
    return pid;
}

static inline int end_sweeping(pid_t pid)
{
    int status;
    return pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid ? 0 : -1;
}

#endif
