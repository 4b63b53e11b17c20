#include "sys/guard/guard_file.h"

#include "base/own.h"
#include "base/text/clock.h"
#include "sys/fs/file.h"
#include "sys/guard/guard.h"
#include "sys/guard/proc_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

enum { PAUSE_MS = 5 };

/* Another guard of the same attempt has ended, but may be a moment away from having gone. */
int guard_file_hold(const char *path, int *ret_fd, struct err *err)
{
    autoclose int fd = -1;
    char line[64];
    int len = snprintf(line, sizeof(line), "%d %lld\n", (int)getpid(),
                       (long long)proc_table_start(getpid()));
    if (file_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, &fd, err))
        return -1;
    if (flock(fd, LOCK_EX) < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, line, (size_t)len, 0) != len)
        return err_sys(err, "write '%s'", path);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int guard_await(const char *path, int64_t time_limit, struct err *err)
{
    int64_t end = clock_mono() + time_limit;
    autoclose int fd = -1;
    struct err why = {0};
    if (file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    while (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_sys(err, "lock '%s'", path);
        if (clock_mono() >= end)
            return err_set(err, ERR_ENV, "the guard of '%s' does not end", path);
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}
