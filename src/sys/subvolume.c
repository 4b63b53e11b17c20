#include "sys/subvolume.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/dirs.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

enum { TOP_INODE = 256 }; /* of every subvolume: BTRFS_FIRST_FREE_OBJECTID */

static bool is_btrfs(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

/* Other file systems are not asked for what may mean something else to them. */
static int open_btrfs(const char *path, int *ret_fd, struct err *err)
{
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    if (!is_btrfs(fd))
        return err_set(err, ERR_ENV, "'%s' is not on btrfs: its file system has no snapshots",
                       path);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Opens the folder that a path is in; *ret_name is the rest. */
static int open_parent(const char *path, int *ret_fd, const char **ret_name, struct err *err)
{
    const char *slash = strrchr(path, '/');
    autofree char *parent = slash ? mem_dup(path, (size_t)(slash - path) + 1) : mem_str("./");
    *ret_name = slash ? slash + 1 : path;
    if (!**ret_name || strlen(*ret_name) > BTRFS_SUBVOL_NAME_MAX)
        return err_set(err, ERR_ENV, "'%s' is no name of a subvolume", path);
    return open_btrfs(parent, ret_fd, err);
}

int subvolume_make(const char *path, struct err *err)
{
    struct btrfs_ioctl_vol_args args = {0};
    autoclose int parent = -1;
    const char *name;
    if (open_parent(path, &parent, &name, err))
        return -1;
    memcpy(args.name, name, strlen(name));
    if (ioctl(parent, BTRFS_IOC_SUBVOL_CREATE, &args) < 0 || fchmodat(parent, name, 0700, 0) < 0)
        return err_sys(err, "make the subvolume '%s'", path);
    return 0;
}

int subvolume_snapshot(const char *of, const char *path, struct err *err)
{
    struct btrfs_ioctl_vol_args_v2 args = {0};
    autoclose int parent = -1, source = -1;
    const char *name;
    if (open_parent(path, &parent, &name, err) || open_btrfs(of, &source, err))
        return -1;
    args.fd = source;
    memcpy(args.name, name, strlen(name));
    if (ioctl(parent, BTRFS_IOC_SNAP_CREATE_V2, &args) < 0)
        return err_sys(err, "make '%s' as a snapshot of '%s'", path, of);
    return 0;
}

bool subvolume_is(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == TOP_INODE && is_btrfs(fd);
}

bool subvolume_drop(const char *path)
{
    struct btrfs_ioctl_vol_args args = {0};
    autoclose int parent = -1;
    const char *name;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_ino != TOP_INODE ||
        open_parent(path, &parent, &name, NULL))
        return false;
    memcpy(args.name, name, strlen(name));
    return ioctl(parent, BTRFS_IOC_SNAP_DESTROY, &args) == 0;
}

#else

static int not_supported(struct err *err)
{
    return err_set(err, ERR_ENV, "snapshots of folders are not supported on this system");
}

int subvolume_make(const char *path, struct err *err)
{
    (void)path;
    return not_supported(err);
}

int subvolume_snapshot(const char *of, const char *path, struct err *err)
{
    (void)of;
    (void)path;
    return not_supported(err);
}

bool subvolume_is(const char *path)
{
    (void)path;
    return false;
}

bool subvolume_drop(const char *path)
{
    (void)path;
    return false;
}

#endif

/* The names are those of our process alone: what is there was left by one that was killed. */
int subvolume_try(const char *from, const char *to, bool *ret_drop, struct err *err)
{
    autofree char *one = mem_printf("%s/.anabranch-try-%d.gone", from, (int)getpid());
    autofree char *two = mem_printf("%s/.anabranch-tried-%d.gone", to, (int)getpid());
    struct err none = {0};
    if (dirs_remove(one, err) || dirs_remove(two, err))
        return -1;
    int rc = subvolume_make(one, err) || subvolume_snapshot(one, two, err) ? -1 : 0;
    bool drop = rc == 0 && subvolume_drop(two);
    if (rc == 0 && (dirs_remove(two, err) || dirs_remove(one, err)))
        rc = -1;
    if (rc) {
        (void)dirs_remove(two, &none);
        (void)dirs_remove(one, &none);
        return -1;
    }
    *ret_drop = drop;
    return 0;
}
