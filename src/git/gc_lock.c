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

/* Behind what git reads of its file. */
static const char our_word[] = "anabranch";

struct gc_lock {
    int fd; /* has the list locked */
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

/* A process that has gone, and ourselves, are left out. */
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
    bool ours, lives; /* lives: git would believe it */
};

/* As git reads it. */
static struct holder read_holder(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[2 * HOST_MAX] = "", host[HOST_MAX] = "", word[16] = "", own[HOST_MAX] = "";
    struct holder h = {0};
    struct stat st;
    char *end;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        read(fd, text, sizeof(text) - 1) <= 0)
        return h;
    intmax_t pid = strtoimax(text, &end, 10);
    if (end == text || sscanf(end, " %255s %15s", host, word) < 1)
        return h;
    (void)gethostname(own, sizeof(own) - 1);
    h.pid = (pid_t)pid;
    h.ours = strcmp(word, our_word) == 0;
    h.lives = time(NULL) - st.st_mtime <= AGE_MAX &&
              (strcmp(host, own) != 0 || kill(h.pid, 0) == 0 || errno == EPERM);
    return h;
}

static bool is_known(const struct gc_lock *l, pid_t pid)
{
    bool known = pid == getpid();
    for (size_t i = 0; i < l->users.n; i++)
        known = known || l->users.v[i].pid == pid;
    return known;
}

static bool is_at(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Takes over the lock file of one of ours that is dead, or our own. We write into it: another git
 * may have put its own there since we looked. */
static bool take_over(const struct gc_lock *l, const char *lock, const struct buf *text)
{
    struct holder h = read_holder(lock);
    if (!h.ours || (h.pid != getpid() && is_known(l, h.pid)))
        return false;
    autoclose int fd = open(lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char word[2 * HOST_MAX] = "";
    return fd >= 0 && pread(fd, word, sizeof(word) - 1, 0) > 0 && strstr(word, our_word) &&
           pwrite(fd, text->s, text->len, 0) == (ssize_t)text->len &&
           ftruncate(fd, (off_t)text->len) == 0 && is_at(fd, lock);
}

/* As git does it: a lock file beside it, which becomes the file. Another git has that for a moment;
 * one of ours has it as long as it waits for a gc. The path of the lock file, which is ours; NULL:
 * one of ours has it, or that failed. */
static char *lock_holder(const struct gc_lock *l, pid_t pid, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    autofree char *lock = mem_printf("%s.lock", l->pid_file);
    char host[HOST_MAX] = "";
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    (void)gethostname(host, sizeof(host) - 1);
    buf_addf(&text, "%jd %s %s\n", (intmax_t)pid, host, our_word);
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (file_create(lock, text.s, text.len, &why) == 0 || take_over(l, lock, &text))
            return steal_ptr(lock);
        if (why.errnum != EEXIST || read_holder(lock).ours)
            break;
        (void)nanosleep(&pause, NULL);
    }
    (void)err_set(err, why.code, "%s", why.msg);
    return NULL;
}

/* Whether the lock file is that of another of ours, which waits for a gc. */
static bool others_wait(const struct gc_lock *l)
{
    autofree char *lock = mem_printf("%s.lock", l->pid_file);
    struct holder h = read_holder(lock);
    return h.ours && h.pid != getpid() && is_known(l, h.pid);
}

static int become(const char *lock, const char *path, struct err *err)
{
    if (rename(lock, path) == 0)
        return 0;
    (void)err_sys(err, "rename '%s'", lock);
    (void)unlink(lock);
    return -1;
}

/* One of ours that lives has it, and keeps it; a gc that lives keeps it as well. Then the lock file
 * stays ours, so that the next gc is refused and we come after this one. */
static int take(const struct gc_lock *l, pid_t *ret_other, struct err *err)
{
    struct holder h = read_holder(l->pid_file);
    *ret_other = h.lives ? h.pid : 0;
    if (others_wait(l))
        return 0;
    autofree char *lock = lock_holder(l, getpid(), err);
    if (!lock)
        return -1;
    h = read_holder(l->pid_file);
    bool has = h.ours && h.lives && is_known(l, h.pid);
    *ret_other = h.lives && !h.ours ? h.pid : 0;
    if (*ret_other)
        return 0;
    if (!has)
        return become(lock, l->pid_file, err);
    (void)unlink(lock);
    (void)utimensat(AT_FDCWD, l->pid_file, NULL, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* To another of ours, or nobody. */
static int give(const struct gc_lock *l, struct err *err)
{
    int rc = 0;
    if (others_wait(l)) /* so a gc has it */
        return 0;
    autofree char *lock = lock_holder(l, l->users.n ? l->users.v[0].pid : getpid(), err);
    if (!lock)
        return -1;
    struct holder h = read_holder(l->pid_file);
    bool held = h.ours && (h.pid == getpid() || !h.lives);
    if (held && l->users.n)
        return become(lock, l->pid_file, err);
    if (held && unlink(l->pid_file) < 0 && errno != ENOENT)
        rc = err_sys(err, "remove '%s'", l->pid_file);
    (void)unlink(lock);
    return rc;
}

int gc_lock_join(const char *common, const char *state_dir, pid_t *ret_other, struct err *err)
{
    own_cleanup(gc_lock_done) struct gc_lock l = {0};
    if (open_list(&l, common, state_dir, err) || take(&l, ret_other, err))
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
    return give(&l, err);
}
