#include "sys/fs/beneath.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef O_PATH
enum { FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };
#else
enum { FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
#endif

#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>

static int ask_kernel(int folder, const char *path, int flags, mode_t mode, unsigned resolve)
{
    struct open_how how = {.flags = (unsigned)flags,
                           .mode = flags & O_CREAT ? mode : 0,
                           .resolve = resolve | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* The kernel is too old for openat2(), or a system call filter refuses it. */
static bool is_missing(int fd)
{
    return fd < 0 && (errno == ENOSYS || errno == EPERM);
}

enum { BENEATH = RESOLVE_BENEATH, ANYWHERE = 0, SAME_MOUNT = RESOLVE_BENEATH | RESOLVE_NO_XDEV };
#else
enum { BENEATH, ANYWHERE, SAME_MOUNT };

static int ask_kernel(int folder, const char *path, int flags, mode_t mode, unsigned resolve)
{
    (void)folder, (void)path, (void)flags, (void)mode, (void)resolve;
    return -1;
}

static bool is_missing(int fd)
{
    (void)fd;
    return true;
}
#endif

/* Enters one folder. Closes `fd` unless it is where the walk began. */
static int enter_folder(int *fd, int start, const char *name)
{
    if (strcmp(name, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
    int next = openat(*fd, name, FOLDER | O_NOFOLLOW);
    if (next < 0)
        return -1;
    if (*fd != start)
        own_close(fd);
    *fd = next;
    return 0;
}

/* Opens the path folder by folder, each by a descriptor. */
static int open_stepwise(int folder, const char *path, int flags, mode_t mode)
{
    autofree char *copy = mem_str(path);
    autoclose int root = *path == '/' ? open("/", FOLDER) : -1;
    int start = root >= 0 ? root : folder, fd = start, found = -1;
    char *save = NULL, *name = strtok_r(copy, "/", &save);
    for (char *next; name && (next = strtok_r(NULL, "/", &save)); name = next) {
        if (enter_folder(&fd, start, name) < 0)
            goto out;
    }
    if (name && strcmp(name, "..") == 0)
        errno = EXDEV;
    else
        found = openat(fd, name ? name : ".", flags | O_NOFOLLOW, mode);
out:;
    int errnum = errno;
    if (fd != start)
        own_close(&fd);
    errno = errnum;
    return found;
}

static int open_resolved(int folder, const char *path, int flags, mode_t mode, unsigned how)
{
    int fd = ask_kernel(folder, *path ? path : ".", flags | O_NOFOLLOW | O_CLOEXEC, mode, how);
    return is_missing(fd) ? open_stepwise(folder, path, flags | O_CLOEXEC, mode) : fd;
}

int beneath_open(int folder, const char *path, int flags, mode_t mode)
{
    if (*path != '/')
        return open_resolved(folder, path, flags, mode, BENEATH);
    errno = EXDEV;
    return -1;
}

int beneath_at(int folder, const char *path)
{
    return beneath_open(folder, path, FOLDER, 0);
}

int beneath_enter(int folder, const char *name)
{
    return open_resolved(folder, name, O_RDONLY | O_DIRECTORY, 0, SAME_MOUNT);
}

int beneath_parent(int folder, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    autofree char *parent = slash ? mem_dup(path, (size_t)(slash - path)) : mem_str("");
    *ret_name = slash ? slash + 1 : path;
    return beneath_open(folder, parent, FOLDER, 0);
}

#ifdef __linux__
void beneath_name(int fd, char ret[BENEATH_NAME])
{
    (void)snprintf(ret, BENEATH_NAME, "/proc/self/fd/%d", fd);
}

int beneath_chmod(int folder, const char *path, mode_t mode)
{
    char itself[BENEATH_NAME];
    autoclose int fd = beneath_at(folder, path);
    if (fd < 0)
        return -1;
    beneath_name(fd, itself);
    return chmod(itself, mode);
}
#else
void beneath_name(int fd, char ret[BENEATH_NAME])
{
    (void)fd;
    *ret = '\0';
}

int beneath_chmod(int folder, const char *path, mode_t mode)
{
    const char *name;
    autoclose int parent = beneath_parent(folder, path, &name);
    return parent < 0 ? -1 : fchmodat(parent, name, mode, AT_SYMLINK_NOFOLLOW);
}
#endif

char *beneath_real(const char *path)
{
    size_t len = strlen(path);
    for (;;) {
        autofree char *there = mem_dup(path, len);
        autofree char *real = realpath(*there ? there : "/", NULL);
        if (real)
            return mem_printf("%s%s", strcmp(real, "/") == 0 && path[len] ? "" : real, path + len);
        while (len && path[len - 1] != '/')
            len--;
        if (!len)
            return mem_str(path);
        len--;
    }
}

static int path_error(const char *path, struct err *err)
{
    return errno == ELOOP || errno == ENOTDIR
               ? err_set(err, ERR_ENV, "a symlink or file is in the way of '%s'", path)
               : err_sys(err, "open '%s'", path);
}

int beneath_folder(const char *path, int *ret_fd, struct err *err)
{
    int fd = open_resolved(AT_FDCWD, path, FOLDER, 0, ANYWHERE);
    if (fd < 0)
        return path_error(path, err);
    *ret_fd = fd;
    return 0;
}

int beneath_folder_of(const char *path, int *ret_fd, const char **ret_name, struct err *err)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    autofree char *parent = slash ? mem_dup(path, len ? len : 1) : mem_str(".");
    *ret_name = slash ? slash + 1 : path;
    return beneath_folder(parent, ret_fd, err);
}

int file_id_of(int fd, struct file_id *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    *ret = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

bool file_id_is_at(const struct file_id *id, int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == id->dev &&
           st.st_ino == id->ino;
}

bool beneath_is_empty(int folder)
{
    autodir DIR *dir = dir_list(folder);
    return dir && !dir_next(dir);
}

int beneath_rename(int folder, const char *name, int to, const char *as)
{
    struct stat st;
#if defined(__linux__) && defined(RENAME_NOREPLACE)
    if (renameat2(folder, name, to, as, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
#endif
    if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, to, as);
}

int64_t file_birth(int folder, const char *name)
{
#if defined(__linux__) && defined(STATX_BTIME)
    struct statx st;
    const int how = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(folder, name, how, STATX_BTIME, &st) == 0 && (st.stx_mask & STATX_BTIME))
        return (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
#else
    (void)folder;
    (void)name;
#endif
    return 0;
}
