#include "git/gc_lock.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/vec.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 16, AGE_MAX = 12 * 60 * 60, HOST_MAX = 256, LOCK_TRIES = 100 };

/* We write this word after the fields that git reads from gc.pid. */
static const char own_marker[] = "anabranch";

struct gc_lock {
    int fd; /* holds the lock on the list */
    char *pid_file, *list_file;
    VEC(struct proc_id) users;
};

static void gc_lock_done(struct gc_lock *l)
{
    own_close(&l->fd);
    free(l->pid_file);
    free(l->list_file);
    vec_done(&l->users);
}

/* Skips processes that have ended, and ourselves. */
static void add_user(struct gc_lock *l, const struct proc_id *id)
{
    if (id->pid > 0 && id->pid != getpid() && proc_table_start(id->pid) == id->start)
        vec_push(&l->users, *id);
}

static int open_list(struct gc_lock *l, const char *common, const char *state_dir, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    autofree char *lock = mem_printf("%s/gc.lock.users", state_dir);
    l->fd = -1;
    l->pid_file = mem_printf("%s/gc.pid", common);
    l->list_file = mem_printf("%s/gc.users", state_dir);
    if (dirs_lock(lock, &l->fd, err) ||
        (access(l->list_file, F_OK) == 0 && file_read(l->list_file, FILE_MAX, &text, err)))
        return -1;
    for (const char *s = text.s; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        char *end;
        struct proc_id id = {.pid = (pid_t)strtol(s, &end, 10)};
        if (end == s || *end != ' ')
            continue;
        id.start = strtoll(end, NULL, 10);
        add_user(l, &id);
    }
    return 0;
}

static int write_list(const struct gc_lock *l, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    for (size_t i = 0; i < l->users.n; i++)
        buf_addf(&text, "%d %" PRId64 "\n", l->users.v[i].pid, l->users.v[i].start);
    if (text.len)
        return file_replace(l->list_file, text.s, text.len, err);
    return unlink(l->list_file) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", l->list_file)
                                                       : 0;
}

struct holder {
    pid_t pid;
    bool ours, is_valid; /* is_valid: git would respect the lock */
};

/* Parses the lock file in the same way as git. */
static struct holder read_holder(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[2 * HOST_MAX] = "", host[HOST_MAX] = "", marker[16] = "", own[HOST_MAX] = "";
    struct holder h = {0};
    struct stat st;
    char *end;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        read(fd, text, sizeof(text) - 1) <= 0)
        return h;
    intmax_t pid = strtoimax(text, &end, 10);
    if (end == text || sscanf(end, " %255s %15s", host, marker) < 1)
        return h;
    (void)gethostname(own, sizeof(own) - 1);
    h.pid = (pid_t)pid;
    h.ours = strcmp(marker, own_marker) == 0;
    h.is_valid = time(NULL) - st.st_mtime <= AGE_MAX &&
                 (strcmp(host, own) != 0 || kill(h.pid, 0) == 0 || errno == EPERM);
    return h;
}

static bool is_our_run(const struct gc_lock *l, pid_t pid)
{
    bool found = pid == getpid();
    for (size_t i = 0; i < l->users.n; i++)
        found = found || l->users.v[i].pid == pid;
    return found;
}

static bool is_open_file(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Takes over the lock file if it is our own or belongs to a run that has died. We overwrite it in
 * place, because another git may have replaced it since we looked. */
static bool take_over(const struct gc_lock *l, const char *lock, const struct buf *text)
{
    struct holder h = read_holder(lock);
    if (!h.ours || (h.pid != getpid() && is_our_run(l, h.pid)))
        return false;
    autoclose int fd = open(lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char marker[2 * HOST_MAX] = "";
    return fd >= 0 && pread(fd, marker, sizeof(marker) - 1, 0) > 0 && strstr(marker, own_marker) &&
           pwrite(fd, text->s, text->len, 0) == (ssize_t)text->len &&
           ftruncate(fd, (off_t)text->len) == 0 && is_open_file(fd, lock);
}

/* Creates the lock file that later becomes gc.pid, as git does. Another git holds it for a moment
 * only; another run of ours holds it while it waits for a gc. Returns the path of our lock file, or
 * NULL if another run has it or an error occurred. */
static char *create_lock_file(const struct gc_lock *l, pid_t pid, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    autofree char *lock = mem_printf("%s.lock", l->pid_file);
    char host[HOST_MAX] = "";
    autobuf struct buf text = BUF_INIT;
    struct err failure = {0};
    (void)gethostname(host, sizeof(host) - 1);
    buf_addf(&text, "%jd %s %s\n", (intmax_t)pid, host, own_marker);
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (file_create(lock, text.s, text.len, &failure) == 0 || take_over(l, lock, &text))
            return steal_ptr(lock);
        if (failure.errnum != EEXIST || read_holder(lock).ours)
            break;
        (void)nanosleep(&pause, NULL);
    }
    (void)err_set(err, failure.code, "%s", failure.msg);
    return NULL;
}

/* True if the lock file belongs to another of our runs, which waits for a gc. */
static bool other_run_waits(const struct gc_lock *l)
{
    autofree char *lock = mem_printf("%s.lock", l->pid_file);
    struct holder h = read_holder(lock);
    return h.ours && h.pid != getpid() && is_our_run(l, h.pid);
}

static int rename_lock(const char *lock, const char *path, struct err *err)
{
    if (rename(lock, path) == 0)
        return 0;
    (void)err_sys(err, "rename '%s'", lock);
    (void)unlink(lock);
    return -1;
}

/* A live run of ours keeps the lock, and so does a live gc. In the second case we keep the lock
 * file, so that the next gc is refused and we follow the current one. */
static int take_lock(const struct gc_lock *l, pid_t *ret_other, struct err *err)
{
    struct holder h = read_holder(l->pid_file);
    *ret_other = h.is_valid ? h.pid : 0;
    if (other_run_waits(l))
        return 0;
    autofree char *lock = create_lock_file(l, getpid(), err);
    if (!lock)
        return -1;
    h = read_holder(l->pid_file);
    bool is_held = h.ours && h.is_valid && is_our_run(l, h.pid);
    *ret_other = h.is_valid && !h.ours ? h.pid : 0;
    if (*ret_other)
        return 0;
    if (!is_held)
        return rename_lock(lock, l->pid_file, err);
    (void)unlink(lock);
    (void)utimensat(AT_FDCWD, l->pid_file, NULL, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* Hands the lock to another run of ours, or removes it. */
static int release_lock(const struct gc_lock *l, struct err *err)
{
    int rc = 0;
    if (other_run_waits(l)) /* a gc has the lock */
        return 0;
    autofree char *lock = create_lock_file(l, l->users.n ? l->users.v[0].pid : getpid(), err);
    if (!lock)
        return -1;
    struct holder h = read_holder(l->pid_file);
    bool held = h.ours && (h.pid == getpid() || !h.is_valid);
    if (held && l->users.n)
        return rename_lock(lock, l->pid_file, err);
    if (held && unlink(l->pid_file) < 0 && errno != ENOENT)
        rc = err_sys(err, "remove '%s'", l->pid_file);
    (void)unlink(lock);
    return rc;
}

int gc_lock_join(const char *common, const char *state_dir, pid_t *ret_other, struct err *err)
{
    own_cleanup(gc_lock_done) struct gc_lock l = {0};
    if (open_list(&l, common, state_dir, err) || take_lock(&l, ret_other, err))
        return -1;
    struct proc_id self = {.pid = getpid(), .start = proc_table_start(getpid())};
    vec_push(&l.users, self);
    return write_list(&l, err);
}

int gc_lock_refresh(const char *common, const char *state_dir, struct err *err)
{
    pid_t other;
    return gc_lock_join(common, state_dir, &other, err);
}

int gc_lock_leave(const char *common, const char *state_dir, struct err *err)
{
    own_cleanup(gc_lock_done) struct gc_lock l = {0};
    if (open_list(&l, common, state_dir, err) || write_list(&l, err))
        return -1;
    return release_lock(&l, err);
}
