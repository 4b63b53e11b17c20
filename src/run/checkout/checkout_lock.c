#include "run/checkout/checkout_lock.h"

#include "base/buf.h"
#include "base/mem.h"
#include "git/config/frozen_config.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { INDEX_MAX = 1 << 30, LINE_MAX_ = 100, QUIET_MS = 1000, QUIET_PAUSE_MS = 5 };

static const char shared_index[] = "sharedindex.";
static const char signature[] = "anabranch ";

/* A lock of git begins with the bytes of an index, or is empty. */
static void write_signature(int fd)
{
    char line[LINE_MAX_];
    int n = snprintf(line, sizeof(line), "%s%d %" PRId64 "\n", signature, (int)getpid(),
                     proc_table_start(getpid()));
    if ((pwrite(fd, line, (size_t)n, 0) != n || ftruncate(fd, n) < 0) && ftruncate(fd, 0) < 0)
        return; /* on a full disk the lock looks like another git's */
}

/* Opens a lock that this process or a dead process of ours has signed. Returns -1 for all
 * others. */
static int open_abandoned(const char *path)
{
    autoclose int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char line[LINE_MAX_] = "", *end;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        pread(fd, line, sizeof(line) - 1, 0) <= 0 ||
        strncmp(line, signature, strlen(signature)) != 0)
        return -1;
    pid_t pid = (pid_t)strtol(line + strlen(signature), &end, 10);
    bool abandoned =
        *end == ' ' && (pid == getpid() || proc_table_start(pid) != strtoll(end, NULL, 10));
    return abandoned ? steal_fd(&fd) : -1;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* We write into the file and do not replace it: another git may have made a new one since we
 * looked. */
static bool take_over_lock(const char *path)
{
    autoclose int fd = open_abandoned(path);
    if (fd < 0)
        return false;
    write_signature(fd);
    return is_same_file(fd, path);
}

int checkout_lock_take(struct checkout_lock *l, const char *git_dir, const char *root,
                       const char *aside, bool *ret_taken, struct err *err)
{
    autofree char *lock = mem_printf("%s/index.lock", git_dir);
    autoclose int fd = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
        return err_sys(err, "lock '%s'", lock);
    bool abandoned = fd < 0 && take_over_lock(lock);
    *ret_taken = fd >= 0 || abandoned;
    if (!*ret_taken)
        return 0;
    if (fd >= 0)
        write_signature(fd);
    *l = (struct checkout_lock){.lock = steal_ptr(lock),
                                .git_dir = mem_str(git_dir),
                                .aside = mem_str(aside),
                                .root = mem_str(root),
                                .was_left = abandoned};
    return 0;
}

bool checkout_lock_is_quiet(const struct checkout_lock *l)
{
    return !proc_table_program_in("git", l->root, "ANABRANCH_RUN");
}

bool checkout_lock_await_quiet(const struct checkout_lock *l)
{
    const struct timespec pause = {.tv_nsec = QUIET_PAUSE_MS * 1000 * 1000};
    int64_t deadline = clock_mono() + time_limit(QUIET_MS);
    bool quiet = checkout_lock_is_quiet(l);
    while (!quiet && clock_mono() < deadline) {
        (void)nanosleep(&pause, NULL);
        quiet = checkout_lock_is_quiet(l);
    }
    return quiet;
}

void checkout_lock_leave(struct checkout_lock *l)
{
    if (l->aside)
        (void)dirs_remove(l->aside, NULL);
    free(l->lock);
    free(l->git_dir);
    free(l->aside);
    free(l->root);
    *l = (struct checkout_lock){0};
}

void checkout_lock_release(struct checkout_lock *l)
{
    if (l->lock)
        (void)unlink(l->lock);
    checkout_lock_leave(l);
}

bool checkout_lock_is_left(const char *git_dir)
{
    autofree char *path = mem_printf("%s/index.lock", git_dir);
    autoclose int fd = open_abandoned(path);
    return fd >= 0;
}

void checkout_lock_clear(const char *git_dir)
{
    autofree char *path = mem_printf("%s/index.lock", git_dir);
    if (take_over_lock(path))
        (void)unlink(path);
}

/* git replaces these files and never writes into them: a hard link is enough. */
static int link_file(const char *from, const char *to, struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    if (link(from, to) == 0 || errno == ENOENT)
        return 0;
    return file_read(from, INDEX_MAX, &bytes, err) || file_create(to, bytes.s, bytes.len, err) ? -1
                                                                                               : 0;
}

static int link_name(const struct checkout_lock *l, const char *name, struct err *err)
{
    autofree char *from = mem_printf("%s/%s", l->git_dir, name);
    autofree char *to = mem_printf("%s/%s", l->aside, name);
    return link_file(from, to, err);
}

/* A split index keeps most entries in a shared index file. */
static int link_shared(void *ctx, const char *dir, const char *name, struct err *err)
{
    (void)dir;
    return strncmp(name, shared_index, strlen(shared_index)) == 0 ? link_name(ctx, name, err) : 0;
}

static int move_shared(void *ctx, const char *dir, const char *name, struct err *err)
{
    const struct checkout_lock *l = ctx;
    autofree char *from = mem_printf("%s/%s", dir, name);
    autofree char *to = mem_printf("%s/%s", l->git_dir, name);
    if (strncmp(name, shared_index, strlen(shared_index)) != 0)
        return 0;
    return rename(from, to) < 0 ? err_sys(err, "write '%s'", to) : 0;
}

int checkout_lock_prepare(const struct checkout_lock *l, const char *common, const char *commit,
                          struct strv *env, struct err *err)
{
    autofree char *head = mem_printf("%s/HEAD", l->aside), *text = mem_printf("%s\n", commit);
    autofree char *info = mem_printf("%s/info", l->aside);
    const char *frozen = git_frozen_common(l->git_dir, common);
    if (dirs_remove(l->aside, err) || dirs_make(info, err) ||
        file_create(head, text, strlen(text), err) || link_name(l, "index", err) ||
        (!frozen && link_name(l, "config.worktree", err)) ||
        link_name(l, "info/sparse-checkout", err) ||
        dirs_each(l->git_dir, link_shared, (void *)l, err))
        return -1;
    strv_pushf(env, "GIT_DIR=%s", l->aside);
    strv_pushf(env, "GIT_COMMON_DIR=%s", frozen ? frozen : common);
    strv_pushf(env, "GIT_WORK_TREE=%s", l->root);
    return 0;
}

int checkout_lock_install(const struct checkout_lock *l, struct err *err)
{
    autofree char *from = mem_printf("%s/index", l->aside);
    autofree char *to = mem_printf("%s/index", l->git_dir);
    if (dirs_each(l->aside, move_shared, (void *)l, err))
        return -1;
    return rename(from, to) < 0 && errno != ENOENT ? err_sys(err, "write '%s'", to) : 0;
}
