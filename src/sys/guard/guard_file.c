#include "sys/guard/guard_file.h"

#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

/* We wait for the lock: an earlier guard of the same attempt may need a moment to exit. */
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
