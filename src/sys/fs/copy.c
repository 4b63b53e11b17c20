#include "sys/fs/copy.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/vec.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

enum { BLOCK = 128 << 10, RANGE_MAX = 1 << 30 };

struct copy {
    char *from;
    int from_root, to_root;
    char *dir;    /* the folder of the last entry, open on both sides; NULL: none */
    int src, dst; /* -1: the folder cannot be entered, so we copy nothing in it */
    struct copy_count count;
    VEC(char *) made_folders; /* folders that we made, each after its parent */
};

static int open_root(const char *path, int *ret_fd, struct err *err)
{
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? err_sys(err, "open '%s'", path) : 0;
}

int copy_open(struct copy **ret, const char *from, const char *to, struct err *err)
{
    struct copy *c = mem_alloc(sizeof(*c));
    *c = (struct copy){.from = mem_str(from), .from_root = -1, .to_root = -1, .src = -1, .dst = -1};
    if (open_root(from, &c->from_root, err) || beneath_folder(to, &c->to_root, err)) {
        (void)copy_close(c, NULL);
        return -1;
    }
    *ret = c;
    return 0;
}

struct copy_count copy_count(const struct copy *c)
{
    return c->count;
}

static void close_folder(struct copy *c)
{
    own_close(&c->src);
    own_close(&c->dst);
    c->src = c->dst = -1;
    free(c->dir);
    c->dir = NULL;
}

/* Enters a folder on one side. -1 with errno 0 means that there is no such folder; that is no
 * error. */
static int enter_side(int *fd, const char *name)
{
    int next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
            errno = 0;
        return -1;
    }
    own_close(fd);
    *fd = next;
    return 0;
}

/* Enters the folder `name` on both sides; its path is the first len bytes of `path`. Makes it in
 * the copy if it is missing. */
static int enter_both(struct copy *c, const char *path, size_t len, const char *name,
                      struct err *err)
{
    if (enter_side(&c->src, name) < 0)
        return errno ? err_sys(err, "open '%s/%.*s'", c->from, (int)len, path) : 1;
    /* We need write permission until the folder is complete. */
    if (mkdirat(c->dst, name, 0700) == 0)
        vec_push(&c->made_folders, mem_dup(path, len));
    else if (errno != EEXIST)
        return err_sys(err, "make the folder '%.*s'", (int)len, path);
    if (enter_side(&c->dst, name) < 0)
        return errno ? err_sys(err, "open '%.*s' in the workspace", (int)len, path) : 1;
    return 0;
}

/* Opens the folder of the next entries: the first len bytes of `dir`; "" is the root. */
static int enter_folder(struct copy *c, const char *dir, size_t len, struct err *err)
{
    if (c->dir && strlen(c->dir) == len && memcmp(c->dir, dir, len) == 0)
        return 0;
    close_folder(c);
    c->src = fcntl(c->from_root, F_DUPFD_CLOEXEC, 0);
    c->dst = fcntl(c->to_root, F_DUPFD_CLOEXEC, 0);
    if (c->src < 0 || c->dst < 0)
        return err_sys(err, "open '%s'", c->from);
    for (size_t start = 0, end; start < len; start = end + 1) {
        const char *slash = memchr(dir + start, '/', len - start);
        end = slash ? (size_t)(slash - dir) : len;
        autofree char *name = mem_dup(dir + start, end - start);
        int rc = enter_both(c, dir, end, name, err);
        if (rc) {
            close_folder(c);
            if (rc < 0)
                return -1;
            break;
        }
    }
    c->dir = mem_dup(dir, len);
    return 0;
}

#ifdef __linux__
static bool clone_file(int in, int out)
{
    return ioctl(out, FICLONE, in) == 0;
}

int copy_can_share(const char *dir, struct err *err)
{
    static const char block[4096];
    autoclose int in = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    autoclose int out = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (in < 0 || out < 0 || write(in, block, sizeof(block)) != sizeof(block) ||
        !clone_file(in, out))
        return err_sys(err, "share blocks of files");
    return 0;
}

/* Returns 0 if all bytes are copied, 1 if it is not possible here and nothing was written, -1 on
 * error. */
static int copy_in_kernel(int in, int out)
{
    for (bool any = false;; any = true) {
        ssize_t n = copy_file_range(in, NULL, out, NULL, RANGE_MAX, 0);
        if (n == 0) /* some files only seem to be empty, as in /proc */
            return any ? 0 : 1;
        if (n < 0)
            return any ? -1 : 1;
    }
}
#else
static bool clone_file(int in, int out)
{
    (void)in, (void)out;
    return false;
}

int copy_can_share(const char *dir, struct err *err)
{
    (void)dir;
    return err_set(err, ERR_ENV, "files are copied here");
}

static int copy_in_kernel(int in, int out)
{
    (void)in, (void)out;
    return 1;
}
#endif

static int copy_by_hand(int in, int out)
{
    autofree char *block = mem_alloc(BLOCK);
    for (ssize_t n; (n = read(in, block, BLOCK)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write(out, block, (size_t)n))
            return -1;
    }
    return 0;
}

static int copy_part(int in, int out, off_t at, off_t end)
{
    autofree char *block = mem_alloc(BLOCK);
    while (at < end) {
        size_t want = end - at < BLOCK ? (size_t)(end - at) : BLOCK;
        ssize_t n = pread(in, block, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : 0;
        if (lseek(out, at, SEEK_SET) < 0 || file_write(out, block, (size_t)n))
            return -1;
        at += n;
    }
    return 0;
}

/* Copies a file with holes and keeps the holes: a disk image may be larger than the disk. */
static int copy_sparse(int in, int out, off_t size)
{
    if (ftruncate(out, size) < 0)
        return -1;
    for (off_t at = 0, end; at < size; at = end) {
        at = lseek(in, at, SEEK_DATA);
        if (at < 0)
            return errno == ENXIO ? 0 : -1;
        end = lseek(in, at, SEEK_HOLE);
        if (end < 0 || copy_part(in, out, at, end))
            return -1;
    }
    return 0;
}

static int copy_bytes(int in, int out, const struct stat *st)
{
    if ((off_t)st->st_blocks * 512 < st->st_size && copy_sparse(in, out, st->st_size) == 0)
        return 0;
    if (lseek(in, 0, SEEK_SET) < 0 || lseek(out, 0, SEEK_SET) < 0)
        return -1;
    int rc = copy_in_kernel(in, out);
    return rc > 0 ? copy_by_hand(in, out) : rc;
}

static int copy_content(struct copy *c, int in, int out, const struct stat *st)
{
    bool cloned = st->st_size > 0 && clone_file(in, out);
    int rc = cloned ? 0 : copy_bytes(in, out, st);
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    if (rc || fchmod(out, st->st_mode & 07777) < 0 || futimens(out, times) < 0)
        return -1;
    c->count.bytes += st->st_size;
    c->count.cloned += cloned ? st->st_size : 0;
    return 0;
}

static int copy_file(struct copy *c, const char *name, struct err *err)
{
    /* If a pipe replaced the file meanwhile, we must not block. */
    autoclose int in = openat(c->src, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (in < 0 && errno == ENOENT)
        return 0;
    if (in < 0 || fstat(in, &st) < 0)
        return err_sys(err, "open '%s' in '%s/%s'", name, c->from, c->dir ? c->dir : "");
    if (!S_ISREG(st.st_mode))
        return 0;
    int out = openat(c->dst, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 && errno == EEXIST)
        return 0;
    int rc = out < 0 ? -1 : copy_content(c, in, out, &st);
    int errnum = errno;
    /* Some file systems report a full disk only at close(). */
    if (out >= 0 && close(out) < 0 && rc == 0)
        rc = -1, errnum = errno;
    errno = errnum;
    if (rc)
        return err_sys(err, "copy '%s' of '%s/%s'", name, c->from, c->dir ? c->dir : "");
    c->count.files++;
    return 0;
}

static int copy_link(struct copy *c, const char *name, const struct stat *st, struct err *err)
{
    autobuf struct buf target = BUF_INIT;
    if (file_read_link(c->src, name, &target))
        return errno == ENOENT ? 0 : err_sys(err, "read the link '%s/%s'", c->dir, name);
    if (symlinkat(target.s, c->dst, name) < 0)
        return errno == EEXIST ? 0 : err_sys(err, "make the link '%s/%s'", c->dir, name);
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    if (utimensat(c->dst, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, "make the link '%s/%s'", c->dir, name);
    c->count.files++;
    return 0;
}

static int copy_entry(struct copy *c, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct stat st;
    if (enter_folder(c, path, slash ? (size_t)(slash - path) : 0, err))
        return -1;
    if (c->src < 0)
        return 0;
    if (fstatat(c->src, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s/%s'", c->from, path);
    if (S_ISREG(st.st_mode))
        return copy_file(c, name, err);
    return S_ISLNK(st.st_mode) ? copy_link(c, name, &st, err) : 0;
}

bool copy_is_linked_worktree(const char *dir)
{
    autofree char *path = mem_printf("%s/.git", dir);
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int copy_visited(struct copy *c, FTS *fts, FTSENT *e, struct err *err)
{
    const char *path = e->fts_path + strlen(c->from) + 1;
    switch (e->fts_info) {
    case FTS_D:
        if (copy_is_linked_worktree(e->fts_path)) {
            (void)fts_set(fts, e, FTS_SKIP);
            return 0;
        }
        return enter_folder(c, path, strlen(path), err); /* copies empty folders too */
    case FTS_DP:
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = e->fts_errno;
        return errno == ENOENT ? 0 : err_sys(err, "look into '%s'", e->fts_path);
    default:
        return copy_entry(c, path, err);
    }
}

static int copy_tree(struct copy *c, const char *path, struct err *err)
{
    autofree char *top = mem_printf("%s/%.*s", c->from, (int)strlen(path) - 1, path);
    char *const roots[] = {top, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!fts)
        return err_sys(err, "look into '%s'", top);
    int rc = 0;
    for (FTSENT *e; rc == 0 && (errno = 0, e = fts_read(fts));)
        rc = copy_visited(c, fts, e, err);
    if (rc == 0 && errno && errno != ENOENT)
        rc = err_sys(err, "look into '%s'", top);
    return rc;
}

int copy_path(struct copy *c, const char *path, struct err *err)
{
    size_t len = strlen(path);
    return len && path[len - 1] == '/' ? copy_tree(c, path, err) : copy_entry(c, path, err);
}

int copy_folder(struct copy *c, const char *path, struct err *err)
{
    return enter_folder(c, path, strlen(path), err);
}

/* Begins with the deepest folder: a folder's mode may forbid us to change anything in it. */
static int finish_folders(struct copy *c, struct err *err)
{
    for (size_t i = c->made_folders.n; i-- > 0;) {
        const char *path = c->made_folders.v[i];
        struct stat st;
        if (fstatat(c->from_root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
            continue;
        struct timespec times[2] = {st.st_atim, st.st_mtim};
        autoclose int fd = beneath_open(c->to_root, path, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0 || futimens(fd, times) < 0 || fchmod(fd, st.st_mode & 07777) < 0)
            return err_sys(err, "finish the folder '%s'", path);
    }
    return 0;
}

int copy_close(struct copy *c, struct err *err)
{
    if (!c)
        return 0;
    int rc = finish_folders(c, err);
    close_folder(c);
    own_close(&c->from_root);
    own_close(&c->to_root);
    for (size_t i = 0; i < c->made_folders.n; i++)
        free(c->made_folders.v[i]);
    vec_done(&c->made_folders);
    free(c->from);
    free(c);
    return rc;
}
