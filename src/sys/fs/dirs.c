#include "sys/fs/dirs.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "sys/clock.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/fs/remove.h"
#include "sys/interrupt.h"
#include "sys/own_dir.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif
#include <time.h>
#include <unistd.h>

enum {
    TELL_MS = 1000,
    LOCK_MS = 60 * 1000,
    LOCK_LONG_MS = 30 * 60 * 1000,
    PAUSE_MIN_NS = 200 * 1000,
    PAUSE_MAX_NS = 10 * 1000 * 1000,
    LOCK_LINE_MAX = 256,
    SHARE_TRIES = 20,
};

static bool make_one(const char *path, mode_t mode)
{
    struct stat st;
    return mkdir(path, mode) == 0 ||
           (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Cuts folders off the end of the path until one exists or can be made. Usually few are missing, so
 * we begin with the last one. */
static bool make_deepest(char *path, mode_t mode)
{
    for (;;) {
        if (make_one(path, mode))
            return true;
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
}

static int make_folders(const char *path, mode_t mode, struct err *err)
{
    autofree char *copy = mem_str(path);
    const char *end = copy + strlen(copy);
    bool made = make_deepest(copy, mode);
    for (char *cut; made && (cut = copy + strlen(copy)) < end;) {
        *cut = '/';
        made = make_one(copy, mode);
    }
    return made ? 0 : err_sys(err, "make folder '%s'", copy);
}

int dirs_make(const char *path, struct err *err)
{
    return make_folders(path, 0700, err);
}

int dirs_make_open(const char *path, struct err *err)
{
    return make_folders(path, 0777, err);
}

/* Checks the deepest folder of the path that exists. */
int dirs_check(const char *path, struct err *err)
{
    autofree char *at = mem_str(*path ? path : ".");
    struct stat st;
    while (stat(at, &st) < 0) {
        char *slash = strrchr(at, '/');
        if (errno != ENOENT || (!slash && strcmp(at, ".") == 0))
            return err_set(err, ERR_INPUT, "folder '%s' cannot be used: %s", at, strerror(errno));
        if (!slash)
            at[0] = '.';
        slash = slash && slash != at ? slash : at + 1;
        *slash = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_INPUT, "'%s' is not a folder", at);
    if (access(at, W_OK | X_OK) < 0)
        return err_set(err, ERR_INPUT, "folder '%s' cannot be written to: %s", at, strerror(errno));
    return 0;
}

int dirs_remove(const char *path, struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(path, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "remove '%s': %s", path, why.msg);
    return remove_tree(folder, name, path, err);
}

int dirs_remove_file(const char *path, struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    struct stat st;
    struct err why = {0};
    if (beneath_folder_of(path, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "remove '%s': %s", path, why.msg);
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    int errnum = errno;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_ENV, "'%s' is a folder, so it stays", path);
    errno = errnum;
    return err_sys(err, "remove '%s'", path);
}

int dirs_each(const char *path, dirs_each_fn *fn, void *ctx, struct err *err)
{
    autodir DIR *dir = opendir(path);
    int rc = 0;
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "read '%s'", path);
    for (struct dirent *e; rc == 0 && (e = dir_next(dir));)
        rc = fn(ctx, path, e->d_name, err);
    return rc;
}

/* NULL with errno 0 means that the folder does not exist. */
static DIR *open_folder(const char *path, struct err *err)
{
    autoclose int at = -1;
    struct err why = {0};
    errno = 0;
    if (beneath_folder(path, &at, &why)) {
        errno = why.errnum == ENOENT ? 0 : EINVAL;
        if (errno)
            (void)err_set(err, why.code, "look into '%s': %s", path, why.msg);
        return NULL;
    }
    DIR *dir = dir_list(at);
    if (dir)
        return dir;
    (void)err_sys(err, "look into '%s'", path);
    errno = EINVAL;
    return NULL;
}

int dirs_remove_entries(const char *path, const char *beginning, const char *ending,
                        struct err *err)
{
    autodir DIR *dir = open_folder(path, err);
    int rc = 0;
    if (!dir)
        return errno ? -1 : 0;
    for (struct dirent *d; rc == 0 && (d = dir_next(dir));) {
        if (!str_begins(d->d_name, beginning) || !str_ends(d->d_name, ending))
            continue;
        autofree char *entry = mem_printf("%s/%s", path, d->d_name);
        rc = remove_tree(dirfd(dir), d->d_name, entry, err);
    }
    return rc;
}

/* Removes the files in one folder, and appends its subfolders to `folders`. */
static int remove_endings(DIR *dir, const char *path, const char *ending, struct strv *folders,
                          struct err *err)
{
    for (struct dirent *d; (d = dir_next(dir));) {
        if (d->d_type == DT_DIR)
            strv_pushf(folders, "%s/%s", path, d->d_name);
        else if (str_ends(d->d_name, ending) && unlinkat(dirfd(dir), d->d_name, 0) < 0 &&
                 errno != ENOENT && errno != EISDIR)
            return err_sys(err, "remove '%s' in '%s'", d->d_name, path);
    }
    return 0;
}

int dirs_remove_endings(const char *path, const char *ending, struct err *err)
{
    autostrv struct strv folders = {0};
    strv_push(&folders, path);
    for (size_t i = 0; i < folders.n; i++) { /* the list grows meanwhile */
        autofree char *folder = mem_str(folders.v[i]);
        autodir DIR *dir = open_folder(folder, err);
        if (dir ? remove_endings(dir, folder, ending, &folders, err) : errno)
            return -1;
    }
    return 0;
}

/* True if the open file still has that name: the previous holder of the lock may have removed
 * it. */
static bool has_path(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/* Finds the process that holds the lock of a file in /proc/locks; 0 if unknown. */
static int find_holder(int fd)
{
    FILE *f = fopen("/proc/locks", "re");
    char line[LOCK_LINE_MAX], wanted[64] = "", owner[16], file[64];
    struct stat st;
    int pid = 0;
    if (fstat(fd, &st) == 0)
        (void)snprintf(wanted, sizeof(wanted), "%02x:%02x:%llu", major(st.st_dev), minor(st.st_dev),
                       (unsigned long long)st.st_ino);
    while (f && !pid && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%*s FLOCK %*s %*s %15s %63s", owner, file) == 2 &&
            strcmp(file, wanted) == 0)
            pid = (int)strtol(owner, NULL, 10);
    }
    if (f)
        (void)fclose(f);
    return pid;
}

static int fail_busy(const char *path, int fd, int64_t ms, struct err *err)
{
    int pid = find_holder(fd);
    autofree char *who = pid ? mem_printf("process %d", pid) : mem_str("another process");
    return err_set(err, ERR_ENV, "%s has held the lock '%s' for longer than %.3g s", who, path,
                   (double)ms / 1000);
}

/* Tries again and again: no system call waits for such a lock with a timeout. *ret_got_lock is
 * false if somebody else still has it at the end. */
static int wait_for_flock(int fd, int how, int64_t ms, bool *ret_got_lock)
{
    struct timespec pause = {.tv_nsec = PAUSE_MIN_NS};
    int64_t end = clock_mono() + ms;
    *ret_got_lock = true;
    while (flock(fd, how | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        if (clock_mono() >= end) {
            *ret_got_lock = false;
            return 0;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < PAUSE_MAX_NS ? 2 * pause.tv_nsec : pause.tv_nsec;
    }
    return 0;
}

/* Locks a file, and waits at most `ms`. If somebody else has the lock, *ret_fd is -1; that is an
 * error only if ms is not 0. */
static int lock_file(const char *path, int how, int64_t ms, int *ret_fd, struct err *err)
{
    *ret_fd = -1;
    for (;;) {
        autoclose int fd = -1;
        bool got_lock;
        if (file_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, &fd, err))
            return -1;
        if (wait_for_flock(fd, how, ms, &got_lock))
            return err_sys(err, "lock '%s'", path);
        if (!got_lock)
            return ms ? fail_busy(path, fd, ms, err) : 0;
        if (has_path(fd, path)) {
            *ret_fd = steal_fd(&fd);
            return 0;
        }
    }
}

int dirs_lock(const char *path, int *ret_fd, struct err *err)
{
    return lock_file(path, LOCK_EX, time_limit(LOCK_MS), ret_fd, err);
}

int dirs_lock_long(const char *path, int *ret_fd, struct err *err)
{
    return lock_file(path, LOCK_EX, time_limit(LOCK_LONG_MS), ret_fd, err);
}

int dirs_try_lock(const char *path, int *ret_fd, struct err *err)
{
    return lock_file(path, LOCK_EX, 0, ret_fd, err);
}

int dirs_try_share_lock(const char *path, int *ret_fd, struct err *err)
{
    return lock_file(path, LOCK_SH, 0, ret_fd, err);
}

int dirs_share_lock(const char *path, int *ret_fd, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    *ret_fd = -1;
    for (int i = 0; i < SHARE_TRIES && *ret_fd < 0 && file_exists(path); i++) {
        if (i)
            (void)nanosleep(&pause, NULL);
        if (dirs_try_share_lock(path, ret_fd, err))
            return -1;
    }
    return 0;
}

int dirs_await_lock(const char *path, const char *whom, void (*waiting)(const char *whom),
                    int *ret_fd, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int64_t due = clock_mono() + TELL_MS;
    for (;; (void)nanosleep(&pause, NULL)) {
        if (dirs_try_lock(path, ret_fd, err))
            return -1;
        if (*ret_fd >= 0)
            return 0;
        if (interrupt_signal())
            return err_set(err, ERR_ENV, "stopped while waiting for %s", whom);
        if (waiting && clock_mono() >= due) {
            waiting(whom);
            waiting = NULL;
        }
    }
}
