#include "sys/fs/remove.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "base/text/shell_quote.h"
#include "base/vec.h"
#include "sys/fs/beneath.h"
#include "sys/fs/btrfs.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

/* OPEN_FOLDERS: so many folders on the current path stay open; we close and reopen the others.
 * RESCANS: how often we read a folder again in which someone made new entries meanwhile. SHOWN:
 * bytes of a path in a message. */
enum { OPEN_FOLDERS = 32, RESCANS = 16, SHOWN = 200 };

/* A folder on the current path. */
struct level {
    char *name;
    DIR *dir; /* NULL while closed */
    dev_t dev;
    ino_t ino;
    struct map failed; /* names of the entries that we could not remove */
    struct strv names; /* holds the keys of `failed` */
    int rescans;
};

struct removal {
    const char *shown; /* the path of the first level, for messages */
    uint64_t mount;    /* the mount in which we stay; 0 if the system does not tell */
    VEC(struct level) levels;
    size_t failed;
    bool immutable;
    int errnum; /* the first failure ... */
    char *path; /* ... and its path */
};

static void level_done(struct level *l)
{
    if (l->dir)
        (void)closedir(l->dir);
    map_done(&l->failed);
    strv_done(&l->names);
    free(l->name);
}

static void removal_done(struct removal *r)
{
    for (size_t i = 0; i < r->levels.n; i++)
        level_done(&r->levels.v[i]);
    vec_done(&r->levels);
    free(r->path);
}

static struct level *get_current_level(struct removal *r)
{
    return &r->levels.v[r->levels.n - 1];
}

/* Returns the path of an entry of the current folder. We cut a long path. */
static char *get_path(const struct removal *r, const char *name)
{
    autobuf struct buf path = BUF_INIT;
    buf_addstr(&path, r->shown);
    for (size_t i = 1; i < r->levels.n && path.len < SHOWN; i++)
        buf_addf(&path, "/%s", r->levels.v[i].name);
    if (r->levels.n && path.len < SHOWN)
        buf_addf(&path, "/%s", name);
    if (path.len >= SHOWN) {
        buf_cut(&path, SHOWN);
        buf_addstr(&path, "...");
    }
    return buf_steal(&path);
}

/* True if a flag of the entry or of its folder forbids its removal. */
static bool is_immutable(int at, const char *name)
{
#ifdef __linux__
    const int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const char *const names[] = {name, "."};
    for (int i = 0; i < 2; i++) {
        int flags = 0;
        autoclose int fd = openat(at, names[i], how);
        if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
            (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)))
            return true;
    }
#else
    (void)at;
    (void)name;
#endif
    return false;
}

/* Records that the entry stays. Its folders then fail too, but only because of this. */
static void record_failure(struct removal *r, int at, const char *name, int errnum)
{
    if (r->levels.n) {
        struct level *l = get_current_level(r);
        strv_push(&l->names, name);
        const char *key = l->names.v[l->names.n - 1];
        (void)map_put(&l->failed, key, strlen(key), l->names.v[l->names.n - 1]);
    }
    if (r->failed++)
        return;
    r->errnum = errnum;
    r->immutable = errnum == EPERM && is_immutable(at, name);
    r->path = get_path(r, name);
}

static int report_failure(const struct removal *r, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (!r->failed)
        return 0;
    buf_addf(&text, "remove '%s': %s", r->path, strerror(r->errnum));
    if (r->failed > 1)
        buf_addf(&text, " (and %zu more)", r->failed - 1);
    if (r->immutable) {
        buf_addstr(&text, ": it is immutable; ");
        shell_quote(&text, "chattr -R -f -i -a", r->shown, NULL);
        shell_quote(&text, " && rm -rf", r->shown, NULL);
        buf_addstr(&text, " removes it");
    }
    (void)err_set(err, ERR_ENV, "%s", text.s);
    if (err)
        err->errnum = r->errnum;
    return -1;
}

/* 0 if the system does not tell. */
static uint64_t mount_of(int fd)
{
#if defined(__linux__) && defined(STATX_MNT_ID)
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 && (st.stx_mask & STATX_MNT_ID))
        return st.stx_mnt_id;
#else
    (void)fd;
#endif
    return 0;
}

/* If the owner may not read the folder, we change its mode. */
static int open_folder(int at, const char *name)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(at, name, how);
    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(at, name, how);
    return fd;
}

/* Enters a folder, and takes over the descriptor. Returns false with errno on failure. */
static bool enter_folder(struct removal *r, const char *name, int fd)
{
    struct stat st;
    struct level l = {0};
    uint64_t mount = mount_of(fd);
    if (r->levels.n && mount != r->mount)
        errno = EBUSY;
    else if (fstat(fd, &st) == 0 && ((st.st_mode & 0700) == 0700 || fchmod(fd, 0700) == 0))
        l.dir = fdopendir(fd);
    if (!l.dir) {
        int errnum = errno;
        (void)close(fd);
        errno = errnum;
        return false;
    }
    r->mount = mount;
    l.name = mem_str(name);
    l.dev = st.st_dev;
    l.ino = st.st_ino;
    vec_push(&r->levels, l);
    if (r->levels.n > OPEN_FOLDERS) {
        struct level *oldest = &r->levels.v[r->levels.n - 1 - OPEN_FOLDERS];
        if (oldest->dir)
            (void)closedir(oldest->dir);
        oldest->dir = NULL;
    }
    return true;
}

/* Reopens the parent of the current folder. Fails if it is no longer the folder from which we
 * came. */
static bool reopen_above(struct removal *r)
{
    struct level *l = &r->levels.v[r->levels.n - 2];
    struct stat st;
    if (l->dir)
        return true;
    autoclose int fd = openat(dirfd(get_current_level(r)->dir), "..",
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        l->dir = dir_take(steal_fd(&fd));
    return l->dir;
}

/* Removes an entry. If it is a folder, enters it. */
static void remove_entry(struct removal *r, int at, const char *name, bool may_be_folder)
{
    if (may_be_folder && btrfs_drop_at(at, name))
        return;
    int fd = may_be_folder ? open_folder(at, name) : -1, why = errno;
    if (fd >= 0 ? enter_folder(r, name, fd) : unlinkat(at, name, 0) == 0)
        return;
    if (errno == EISDIR && !may_be_folder) /* the file became a folder meanwhile */
        remove_entry(r, at, name, true);
    else if (errno != ENOENT)
        record_failure(r, at, name, errno == EISDIR ? why : errno);
}

/* Leaves the current folder, in which only failed entries remain, and removes it if it is empty. */
static void leave_folder(struct removal *r, int at)
{
    struct level *l = get_current_level(r);
    bool above = r->levels.n == 1 || reopen_above(r);
    int parent = r->levels.n == 1 ? at : above ? dirfd(r->levels.v[r->levels.n - 2].dir) : -1;
    bool gone = above && (unlinkat(parent, l->name, AT_REMOVEDIR) == 0 || errno == ENOENT);
    int errnum = above ? errno : ESTALE;
    if (!gone && above && errnum == ENOTEMPTY && !l->failed.n && l->rescans++ < RESCANS) {
        rewinddir(l->dir);
        return;
    }
    struct level left = *l;
    bool follows = left.failed.n > 0;
    r->levels.n--;
    if (!gone) {
        record_failure(r, parent, left.name, errnum);
        r->failed -= follows;
    }
    level_done(&left);
    if (!above) /* we cannot find the way back, so we give up */
        while (r->levels.n)
            level_done(&r->levels.v[--r->levels.n]);
}

static void remove_next(struct removal *r, int at)
{
    struct level *l = get_current_level(r);
    const struct dirent *e;
    do {
        e = dir_next(l->dir);
    } while (e && map_get(&l->failed, e->d_name, strlen(e->d_name)));
    if (e)
        remove_entry(r, dirfd(l->dir), e->d_name, e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
    else
        leave_folder(r, at);
}

int remove_tree(int at, const char *name, const char *shown, struct err *err)
{
    own_cleanup(removal_done) struct removal r = {.shown = shown};
    remove_entry(&r, at, name, true);
    while (r.levels.n)
        remove_next(&r, at);
    return report_failure(&r, err);
}

/* Opens the folder `id`; *ret_fd is -1 if there is nothing of that name. We look at the open folder
 * before we change its mode. */
static int open_known(int at, const char *name, const struct file_id *id, const char *shown,
                      int *ret_fd, struct err *err)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
    struct file_id found = {0};
    autoclose int folder = beneath_at(at, name);
    *ret_fd = -1;
    if (folder < 0 && errno == ENOENT)
        return 0;
    if ((folder < 0 && (errno == ENOTDIR || errno == ELOOP)) ||
        (folder >= 0 && file_id_of(folder, &found) == 0 &&
         (found.dev != id->dev || found.ino != id->ino)))
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made, so it stays", shown);
    if (folder < 0 || !found.ino)
        return err_sys(err, "remove '%s'", shown);
    int fd = openat(folder, ".", how);
    char itself[BENEATH_NAME];
    beneath_name(folder, itself);
    if (fd < 0 && errno == EACCES && chmod(itself, 0700) == 0)
        fd = openat(folder, ".", how);
    if (fd < 0)
        return err_sys(err, "remove '%s'", shown);
    *ret_fd = fd;
    return 0;
}

int remove_known_tree(int at, const char *name, const struct file_id *id, const char *shown,
                      struct err *err)
{
    own_cleanup(removal_done) struct removal r = {.shown = shown};
    int fd;
    if (open_known(at, name, id, shown, &fd, err))
        return -1;
    if (fd < 0)
        return 0;
    if (btrfs_drop_open(fd, at, name)) {
        (void)close(fd);
        return 0;
    }
    if (!enter_folder(&r, name, fd))
        record_failure(&r, at, name, errno);
    while (r.levels.n)
        remove_next(&r, at);
    return report_failure(&r, err);
}
