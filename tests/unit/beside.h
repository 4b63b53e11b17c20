/* A process beside a test that takes a folder away whenever that is empty, as `git gc` and `git
 * worktree prune` do with some of git's: again and again, though not so fast that nobody could come
 * between. */
#ifndef TESTS_UNIT_BESIDE_H
#define TESTS_UNIT_BESIDE_H

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline pid_t begin_sweeping(const char *folder)
{
    const struct timespec pause = {.tv_nsec = 500 * 1000};
    pid_t test = getpid(), pid = fork();
    while (pid == 0 && getppid() == test) {
        (void)rmdir(folder);
        (void)nanosleep(&pause, NULL);
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
