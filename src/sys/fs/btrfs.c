#include "sys/fs/btrfs.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

enum { TOP_INODE = 256 }; /* inode of every subvolume: BTRFS_FIRST_FREE_OBJECTID */

static bool is_btrfs(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

/* Opens a folder on btrfs only: on another file system the ioctl numbers may mean something
 * else. */
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

/* Opens the parent folder of a path; *ret_name is the last part. */
static int open_parent(const char *path, int *ret_fd, const char **ret_name, struct err *err)
{
    const char *name = *ret_name = str_last_part(path);
    autofree char *parent = name > path ? mem_dup(path, (size_t)(name - path)) : mem_str("./");
    if (!**ret_name || strlen(*ret_name) > BTRFS_SUBVOL_NAME_MAX)
        return err_set(err, ERR_ENV, "'%s' is no name of a subvolume", path);
    return open_btrfs(parent, ret_fd, err);
}

int btrfs_make(const char *path, struct err *err)
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

int btrfs_snapshot(const char *of, const char *path, struct err *err)
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

bool btrfs_is(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == TOP_INODE && is_btrfs(fd);
}

static bool destroy_subvolume(int parent, const char *name)
{
    struct btrfs_ioctl_vol_args args = {0};
    memcpy(args.name, name, strlen(name));
    return ioctl(parent, BTRFS_IOC_SNAP_DESTROY, &args) == 0;
}

bool btrfs_drop_at(int at, const char *path)
{
    autoclose int parent = -1;
    const char *name;
    struct stat st;
    if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_ino != TOP_INODE)
        return false;
    if (at == AT_FDCWD)
        return open_parent(path, &parent, &name, NULL) == 0 && destroy_subvolume(parent, name);
    return strlen(path) <= BTRFS_SUBVOL_NAME_MAX && is_btrfs(at) && destroy_subvolume(at, path);
}

/* Nobody can exchange the subvolume between a look at its name and the deletion. */
bool btrfs_drop_open(int fd, int at, const char *name)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_ino != TOP_INODE || !is_btrfs(fd))
        return false;
#ifdef BTRFS_IOC_SNAP_DESTROY_V2
    struct btrfs_ioctl_ino_lookup_args own = {.objectid = TOP_INODE};
    struct btrfs_ioctl_vol_args_v2 args = {.flags = BTRFS_SUBVOL_SPEC_BY_ID};
    if (ioctl(fd, BTRFS_IOC_INO_LOOKUP, &own) == 0) {
        args.subvolid = own.treeid;
        int rc = ioctl(fd, BTRFS_IOC_SNAP_DESTROY_V2, &args);
        if (rc == 0 || (errno != ENOTTY && errno != EOPNOTSUPP))
            return rc == 0;
    }
#endif
    return btrfs_drop_at(at, name);
}

bool btrfs_fits(const char *dir)
{
    autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && is_btrfs(fd);
}

/* Reads the id of the whole file system. Device numbers do not help: each subvolume has its own. */
static int read_disk_id(const char *dir, struct btrfs_ioctl_fs_info_args *ret, struct err *err)
{
    autofree char *path = mem_printf("%s/", dir);
    autoclose int fd = -1;
    if (open_btrfs(path, &fd, err))
        return -1;
    return ioctl(fd, BTRFS_IOC_FS_INFO, ret) < 0 ? err_sys(err, "tell the disk of '%s'", dir) : 0;
}

static int check_same_disk(const char *one, const char *two, struct err *err)
{
    struct btrfs_ioctl_fs_info_args a = {0}, b = {0};
    if (read_disk_id(one, &a, err) || read_disk_id(two, &b, err))
        return -1;
    return memcmp(a.fsid, b.fsid, sizeof(a.fsid)) != 0
               ? err_set(err, ERR_ENV, "'%s' and '%s' are on different file systems", one, two)
               : 0;
}

#else

static int not_supported(struct err *err)
{
    return err_set(err, ERR_ENV, "snapshots of folders are not supported on this system");
}

int btrfs_make(const char *path, struct err *err)
{
    (void)path;
    return not_supported(err);
}

int btrfs_snapshot(const char *of, const char *path, struct err *err)
{
    (void)of;
    (void)path;
    return not_supported(err);
}

bool btrfs_is(const char *path)
{
    (void)path;
    return false;
}

bool btrfs_drop_at(int at, const char *path)
{
    (void)at;
    (void)path;
    return false;
}

bool btrfs_drop_open(int fd, int at, const char *name)
{
    (void)fd;
    (void)at;
    (void)name;
    return false;
}

bool btrfs_fits(const char *dir)
{
    (void)dir;
    return false;
}

static int check_same_disk(const char *one, const char *two, struct err *err)
{
    (void)one;
    (void)two;
    return not_supported(err);
}

#endif

bool btrfs_drop(const char *path)
{
    return btrfs_drop_at(AT_FDCWD, path);
}

/* Nobody can guess the names, so nobody else has them. A killed process leaves two empty folders.
 */
static int try_snapshot(const char *dir, bool *ret_drop, struct err *err)
{
    uint64_t random = 0;
    if (getentropy(&random, sizeof(random)) < 0)
        return err_sys(err, "choose a name in '%s'", dir);
    autofree char *one = mem_printf("%s/.anabranch-try-%016" PRIx64 ".gone", dir, random);
    autofree char *two = mem_printf("%s/.anabranch-tried-%016" PRIx64 ".gone", dir, random);
    if (btrfs_make(one, err))
        return -1;
    int rc = btrfs_snapshot(one, two, err);
    *ret_drop = rc == 0 && btrfs_drop(two);
    int left = (rc == 0 && dirs_remove(two, err)) || dirs_remove(one, rc ? NULL : err) ? -1 : 0;
    return rc || left ? -1 : 0;
}

int btrfs_try(const char *from, const char *to, bool *ret_drop, struct err *err)
{
    return check_same_disk(from, to, err) || try_snapshot(from, ret_drop, err) ? -1 : 0;
}
