#include "data/work_file.h"

#include "base/mem.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

mode_t work_file_mode(uint32_t mode)
{
    return (mode & S_IFMT) | (mode & 0100 ? 0777 : 0666);
}

/* How much two paths have in common, up to the end of a folder's name. */
static size_t shared_folders(const char *a, const char *b)
{
    size_t shared = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '/')
            shared = i + 1;
    }
    return shared;
}

int work_file_folders(int folder, const char *path, const char *before, struct err *err)
{
    for (const char *slash = path + shared_folders(path, before); (slash = strchr(slash, '/'));
         slash++) {
        autofree char *name = mem_dup(path, (size_t)(slash - path));
        if (mkdirat(folder, name, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "make '%s'", name);
    }
    return 0;
}

static int write_all(int fd, const char *content, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, content + done, len - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Some file systems report a full disk only when a file is closed. */
static int write_content(int folder, const char *path, mode_t mode, const char *content, size_t len,
                         struct stat *ret_st, struct err *err)
{
    autoclose int fd =
        openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    if (fd < 0)
        return err_sys(err, "write '%s'", path);
    if (write_all(fd, content, len) == 0 && fstat(fd, ret_st) == 0 && close(steal_fd(&fd)) == 0)
        return 0;
    (void)err_sys(err, "write '%s'", path);
    (void)unlinkat(folder, path, 0); /* what stays is in the way of who tries again, who says so */
    return -1;
}

static int write_link(int folder, const char *path, const char *content, size_t len,
                      struct stat *ret_st, struct err *err)
{
    autofree char *to = mem_dup(content, len);
    if (symlinkat(to, folder, path) < 0 || fstatat(folder, path, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, "make '%s'", path);
    return 0;
}

int work_file_write(int folder, const char *path, mode_t mode, const char *content, size_t len,
                    struct stat *ret_st, struct err *err)
{
    return S_ISLNK(mode) ? write_link(folder, path, content, len, ret_st, err)
                         : write_content(folder, path, mode, content, len, ret_st, err);
}
