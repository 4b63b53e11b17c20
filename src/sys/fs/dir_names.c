#include "sys/fs/dir_names.h"

#include "base/text/str.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static void add_name(const char *name, const char *but, struct buf *out)
{
    if (!str_is_dots(name) && strcmp(name, but) != 0)
        buf_add(out, name, strlen(name) + 1);
}

#ifdef __linux__

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

/* tmpfs counts so many bytes per name, and counts "." and ".." too. */
enum { TMPFS_NAME = 20 };

/* Not fdopendir(): for each folder it would stat the descriptor and allocate a buffer. */
int dir_names_read(int fd, const char *but, struct buf *out)
{
    _Alignas(struct dirent64) char bytes[32768];
    ssize_t n;
    while ((n = getdents64(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(bytes + at);
            add_name(e->d_name, but, out);
            at += e->d_reclen;
        }
    }
    return n < 0 ? -1 : 0;
}

enum dir_names_size dir_names_size_means(int fd)
{
    struct statfs fs;
    long flags = 0;
    if (fstatfs(fd, &fs) < 0)
        return NAMES_SIZE_NOTHING;
    if (fs.f_type == BTRFS_SUPER_MAGIC)
        return NAMES_SIZE_LENGTH;
    if (fs.f_type != TMPFS_MAGIC)
        return NAMES_SIZE_NOTHING;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0) /* an old tmpfs has no flags */
        flags = 0;
    return flags & FS_CASEFOLD_FL ? NAMES_SIZE_NOTHING : NAMES_SIZE_NUMBER;
}

bool dir_names_size_fits(enum dir_names_size means, off_t size, size_t names, size_t length)
{
    if (means == NAMES_SIZE_NUMBER)
        return (size_t)size == (names + 2) * TMPFS_NAME;
    return means == NAMES_SIZE_LENGTH && (size_t)size == 2 * length;
}

#else

#include <fcntl.h>
#include <unistd.h>

int dir_names_read(int fd, const char *but, struct buf *out)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (!dir) {
        int errnum = errno;
        if (own >= 0)
            (void)close(own);
        errno = errnum;
        return -1;
    }
    for (struct dirent *e; errno = 0, (e = readdir(dir));)
        add_name(e->d_name, but, out);
    int errnum = errno;
    (void)closedir(dir);
    errno = errnum;
    return errnum ? -1 : 0;
}

enum dir_names_size dir_names_size_means(int fd)
{
    (void)fd;
    return NAMES_SIZE_NOTHING;
}

bool dir_names_size_fits(enum dir_names_size means, off_t size, size_t names, size_t length)
{
    (void)means, (void)size, (void)names, (void)length;
    return false;
}

#endif
