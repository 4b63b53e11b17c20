#include "data/work_write.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *content, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, content + at, len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool work_write(int root, const char *path, uint32_t mode, const char *content, size_t len)
{
    if (S_ISLNK(mode))
        return symlinkat(content, root, path) == 0;
    autoclose int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              mode & 0100 ? 0777 : 0666);
    return fd >= 0 && write_all(fd, content, len) && close(steal_fd(&fd)) == 0;
}
