#include "workspace/write_file.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

mode_t work_file_mode(uint32_t mode)
{
    return (mode & S_IFMT) | (mode & 0100 ? 0777 : 0666);
}

void work_folder_done(struct work_folder *f)
{
    own_close(&f->fd);
    buf_done(&f->path);
}

static int make_folder(int above, const char *name)
{
    return mkdirat(above, name, 0777) < 0 && errno != EEXIST ? -1 : beneath_at(above, name);
}

/* Makes them one by one; few are missing. */
static int make_folders(int root, const char *path)
{
    autoclose int above = beneath_at(root, "");
    for (const char *name = path; above >= 0 && *name; name += strcspn(name, "/") + 1) {
        autofree char *one = mem_dup(name, strcspn(name, "/"));
        int next = make_folder(above, one), errnum = errno;
        own_close(&above);
        errno = errnum;
        above = next;
    }
    return steal_fd(&above);
}

int work_folder_enter(struct work_folder *f, const char *path, bool make, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash + 1 - path) : 0;
    *ret_name = path + len;
    if (!len)
        return f->root;
    if (f->fd >= 0 && f->path.len == len && memcmp(f->path.s, path, len) == 0)
        return f->fd;
    own_close(&f->fd);
    buf_cut(&f->path, 0);
    buf_add(&f->path, path, len);
    f->fd = beneath_at(f->root, f->path.s);
    if (f->fd < 0 && errno == ENOENT && make)
        f->fd = make_folders(f->root, f->path.s);
    return f->fd;
}

/* Some file systems report a full disk only when a file is closed. */
static int write_content(int folder, const char *path, mode_t mode, const char *content, size_t len,
                         struct stat *ret_st, struct err *err)
{
    autoclose int fd =
        openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    if (fd < 0)
        return err_sys(err, "write '%s'", path);
    if (file_write(fd, content, len) == 0 && fstat(fd, ret_st) == 0 && close(steal_fd(&fd)) == 0)
        return 0;
    (void)err_sys(err, "write '%s'", path);
    (void)unlinkat(folder, path,
                   0); /* if this fails, the next attempt finds the file and reports it */
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
