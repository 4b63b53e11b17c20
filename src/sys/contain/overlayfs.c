#include "sys/contain/overlayfs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "sys/contain/namespace.h"
#include "sys/fs/beneath.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_dir.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <limits.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static bool entered;

int overlay_enter(struct err *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (entered)
        return 0;
    if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
        return err_sys(err, "make a mount namespace");
    if (uid && namespace_map_user(uid, gid, err))
        return -1;
    /* Later mounts from outside also appear inside. */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_sys(err, "make the mounts private");
    entered = true;
    return 0;
}

static bool is_same_namespace(pid_t pid, const char *kind)
{
    autofree char *theirs = mem_printf("/proc/%d/ns/%s", (int)pid, kind);
    autofree char *ours = mem_printf("/proc/self/ns/%s", kind);
    struct stat a, b;
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_ino == b.st_ino;
}

static int join_namespace(pid_t pid, const char *kind, int type, struct err *err)
{
    autofree char *path = mem_printf("/proc/%d/ns/%s", (int)pid, kind);
    if (is_same_namespace(pid, kind))
        return 0;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 || setns(fd, type) < 0 ? err_sys(err, "enter '%s'", path) : 0;
}

static bool can_see(pid_t pid, const char *folder)
{
    autofree char *theirs = mem_printf("/proc/%d/root%s", (int)pid, folder ? folder : "");
    return !folder || file_is_same(theirs, folder);
}

int overlay_join(pid_t pid, const char *needs, struct err *err)
{
    autofree char *cwd = getcwd(NULL, 0);
    if (!can_see(pid, needs))
        return err_set(err, ERR_ENV, "'%s' is hidden from process %d: end it first", needs,
                       (int)pid);
    if (join_namespace(pid, "user", CLONE_NEWUSER, err) ||
        join_namespace(pid, "mnt", CLONE_NEWNS, err))
        return -1;
    entered = true;
    if (cwd && chdir(cwd) < 0) /* setns() moves us to the root folder */
        return err_sys(err, "return to '%s'", cwd);
    return 0;
}

static int open_folder(const char *path, struct err *err)
{
    int fd;
    return beneath_folder(path, &fd, err) ? -1 : fd;
}

/* The kernel leaves nested folders in it that nobody may read. `rm -r` would fail for their owner
 * later, so we make them accessible. */
static void make_removable(int work)
{
    static const char *const inner[] = {"work", "work/incompat", "work/incompat/volatile"};
    for (size_t i = 0; i < ARRAY_LEN(inner); i++)
        (void)beneath_chmod(work, inner[i], 0700);
}

struct folders {
    int fds[OVERLAY_BELOW_MAX];
    size_t n;
};

static void folders_done(struct folders *f)
{
    for (size_t i = 0; i < f->n; i++)
        own_close(&f->fds[i]);
}

static int add_lower_folders(const struct overlay *o, struct folders *f, struct buf *ret,
                             struct err *err)
{
    for (char *const *p = o->below; p && *p; p++) {
        if (f->n == OVERLAY_BELOW_MAX)
            return err_set(err, ERR_ENV, "too many folders below '%s'", o->at);
        f->fds[f->n] = open_folder(*p, err);
        if (f->fds[f->n] < 0)
            return -1;
        buf_addf(ret, ":/proc/self/fd/%d", f->fds[f->n++]);
    }
    return 0;
}

/* The kind of mark that the kernel puts on folders depends on the owner of the upper folder, not
 * on who mounts it.
 *
 * We name folders by descriptors: paths may have any length and contain characters with a meaning
 * in mount options. "volatile": the upper folder may lose data if the machine dies. That is better
 * than a sync of the whole disk at each unmount, and later runs notice it (sys/proc/boot_id.h). */
int overlay_mount(const struct overlay *o, struct err *err)
{
    own_cleanup(folders_done) struct folders more = {0};
    autobuf struct buf below = BUF_INIT;
    autoclose int lower = open_folder(o->lower, err);
    autoclose int upper = lower < 0 ? -1 : open_folder(o->upper, err);
    autoclose int work = upper < 0 ? -1 : open_folder(o->work, err);
    autoclose int at = work < 0 ? -1 : open_folder(o->at, err);
    char place[32];
    if (at < 0 || add_lower_folders(o, &more, &below, err))
        return -1;
    (void)snprintf(place, sizeof(place), "/proc/self/fd/%d", at);
    struct stat st;
    if (fstat(upper, &st) < 0)
        return err_sys(err, "look at '%s'", o->upper);
    autofree char *options =
        mem_printf("lowerdir=/proc/self/fd/%d%s,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,"
                   "index=off,metacopy=off,xino=off,volatile,%s",
                   lower, below.s, upper, work, st.st_uid == 0 ? "redirect_dir=on" : "userxattr");
    if (mount("anabranch", place, "overlay", 0, options) < 0)
        return err_sys(err, "mount an overlay at '%s'", o->at);
    make_removable(work);
    return 0;
}

int overlay_unmount(const char *at, struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(at, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    autofree char *place = mem_printf("/proc/self/fd/%d/%s", folder, name);
    return umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT &&
                   errno != EPERM
               ? err_sys(err, "unmount '%s'", at)
               : 0;
}

bool overlay_is_at(const char *at)
{
    autofree char *above = mem_printf("%s/..", at);
    struct stat st, parent;
    return lstat(at, &st) == 0 && S_ISDIR(st.st_mode) && stat(above, &parent) == 0 &&
           st.st_dev != parent.st_dev;
}

static bool is_seen_by(const struct proc_id *id, const char *real)
{
    autofree char *theirs = mem_printf("/proc/%d/root%s", (int)id->pid, real);
    return proc_table_lives(id) && overlay_is_at(theirs);
}

/* True if a process that enters this user namespace may also enter these mounts. A guard is in the
 * user namespace of its command, but in another mount namespace. */
static bool can_be_joined(pid_t pid)
{
    autofree char *mounts = mem_printf("/proc/%d/ns/mnt", (int)pid);
    autofree char *users = mem_printf("/proc/%d/ns/user", (int)pid);
    autoclose int fd = open(mounts, O_RDONLY | O_CLOEXEC);
    autoclose int owner = fd < 0 ? -1 : ioctl(fd, NS_GET_USERNS);
    struct stat a, b;
    return owner >= 0 && fstat(owner, &a) == 0 && stat(users, &b) == 0 && a.st_ino == b.st_ino;
}

/* /proc/<pid>/root resolves the path in the other process's namespace, except for symlinks. So we
 * pass a path without symlinks. */
pid_t overlay_seen_by(const char *at, const char *needs)
{
    autofree char *real = realpath(at, NULL);
    autoprocs struct proc_table all = {0};
    pid_t found = 0;
    if (real)
        proc_table_everyone(&all);
    for (size_t i = 0; i < all.all.n; i++) {
        const struct proc_id *id = &all.all.v[i];
        if (!is_seen_by(id, real))
            continue;
        if (can_be_joined(id->pid) && can_see(id->pid, needs))
            return id->pid;
        found = found ? found : id->pid;
    }
    return found;
}

bool overlay_is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && major(st->st_rdev) == 0 && minor(st->st_rdev) == 0;
}

static bool has_mark(const char *path, const char *name, bool *ret_unknown)
{
    static const char *const spaces[] = {"trusted", "user"};
    char value[16];
    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        autofree char *full = mem_printf("%s.overlay.%s", spaces[i], name);
        if (lgetxattr(path, full, value, sizeof(value)) >= 0 || errno == ERANGE)
            return true;
        *ret_unknown = *ret_unknown || (errno != ENODATA && errno != ENOTSUP);
    }
    return false;
}

enum overlay_folder overlay_folder(const char *path)
{
    bool unknown = false, moved = has_mark(path, "redirect", &unknown);
    bool opaque = has_mark(path, "opaque", &unknown);
    return moved || unknown ? OVERLAY_MOVED : opaque ? OVERLAY_OPAQUE : OVERLAY_MERGED;
}

#define PROBE                                                                                      \
    ".overlay." /* followed by the pid of the process that tries, in the folder under test */

static int make_file(const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(err, "make '%s'", path) : 0;
}

/* Checks that the overlay shows the lower file, accepts new and deleted files, and leaves the
 * lower folder unchanged. */
static int try_overlay(const struct overlay *o, struct err *err)
{
    autofree char *seen = mem_printf("%s/below", o->at), *kept = mem_printf("%s/below", o->lower);
    autofree char *made = mem_printf("%s/above", o->upper);
    struct stat st;
    if (make_file(o->lower, "below", err) || overlay_enter(err) || overlay_mount(o, err) ||
        make_file(o->at, "above", err))
        return -1;
    if (unlink(seen) < 0 || lstat(kept, &st) < 0 || lstat(made, &st) < 0)
        return err_sys(err, "use an overlay in '%s'", o->at);
    return overlay_unmount(o->at, err);
}

static int try_in_child(const struct overlay *o, struct err *err)
{
    int ends[2], status = -1;
    if (spawn_pipe(ends, err))
        return -1;
    autoclose int reader = ends[0], writer = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, "fork");
    if (pid == 0) {
        struct err why = {0};
        bool bad = try_overlay(o, &why) != 0;
        _exit(bad && write(writer, why.msg, strlen(why.msg)) >= 0 ? 1 : bad);
    }
    own_close(&writer);
    char text[sizeof(err->msg)];
    ssize_t n;
    while ((n = read(reader, text, sizeof(text) - 1)) < 0 && errno == EINTR)
        ;
    (void)spawn_reap(pid, &status, NULL);
    text[n > 0 ? n : 0] = '\0';
    return status == 0 ? 0 : err_set(err, ERR_ENV, "%s", n > 0 ? text : "the test did not finish");
}

/* Removes what killed probes have left. */
static void sweep_dead(const char *dir)
{
    autodir DIR *d = opendir(dir);
    for (struct dirent *e; (e = dir_next(d));) {
        long pid = strncmp(e->d_name, PROBE, strlen(PROBE)) == 0
                       ? strtol(e->d_name + strlen(PROBE), NULL, 10)
                       : 0;
        autofree char *path = mem_printf("%s/%s", dir, e->d_name);
        if (pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            (void)dirs_remove(path, NULL);
    }
}

static int probe_mount(const char *dir, struct err *err)
{
    autofree char *own = mem_printf("%s/" PROBE "%d", dir, (int)getpid());
    autofree char *lower = mem_printf("%s/lower", own), *upper = mem_printf("%s/upper", own);
    autofree char *work = mem_printf("%s/work", own), *at = mem_printf("%s/at", own);
    struct overlay o = {.lower = lower, .upper = upper, .work = work, .at = at};
    int rc = dirs_make(lower, err) || dirs_make(upper, err) || dirs_make(work, err) ||
                     dirs_make(at, err) || try_in_child(&o, err)
                 ? -1
                 : 0;
    (void)dirs_remove(own, NULL);
    return rc;
}

/* Blocks signals until we have removed the probe's folder. */
int overlay_probe(const char *dir, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    sweep_dead(dir);
    if (sigprocmask(SIG_BLOCK, &all, &before) < 0)
        return err_sys(err, "block signals");
    int rc = probe_mount(dir, err);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

#else

static int fail_unsupported(struct err *err)
{
    return err_set(err, ERR_ENV, "this system does not support overlays");
}

int overlay_enter(struct err *err)
{
    return fail_unsupported(err);
}

int overlay_join(pid_t pid, const char *needs, struct err *err)
{
    (void)pid, (void)needs;
    return fail_unsupported(err);
}

int overlay_mount(const struct overlay *o, struct err *err)
{
    (void)o;
    return fail_unsupported(err);
}

int overlay_unmount(const char *at, struct err *err)
{
    (void)at, (void)err;
    return 0;
}

bool overlay_is_at(const char *at)
{
    (void)at;
    return false;
}

pid_t overlay_seen_by(const char *at, const char *needs)
{
    (void)at, (void)needs;
    return 0;
}

bool overlay_is_whiteout(const struct stat *st)
{
    (void)st;
    return false;
}

enum overlay_folder overlay_folder(const char *path)
{
    (void)path;
    return OVERLAY_MOVED;
}

int overlay_probe(const char *dir, struct err *err)
{
    (void)dir;
    return fail_unsupported(err);
}

#endif
