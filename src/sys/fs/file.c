#include "sys/fs/file.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/text.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 64 << 10 };

static int input_error(struct err *err, int errnum, const char *message, const char *path)
{
    (void)err_set(err, ERR_INPUT, "'%s' %s", path, message);
    if (err)
        err->errnum = errnum;
    return -1;
}

/* The size of a pipe is unknown until it ends. So for a pipe `size` is what we have read so far,
 * and `whole` is false. */
static int size_error(struct err *err, const char *path, bool whole, size_t size, size_t max)
{
    autobuf struct buf msg = BUF_INIT;
    buf_addstr(&msg, whole ? "is " : "is at least ");
    text_format_bytes(&msg, (int64_t)size);
    buf_addf(&msg, " (%zu bytes), more than the limit of ", size);
    text_format_bytes(&msg, (int64_t)max);
    return input_error(err, EFBIG, msg.s, path);
}

/* Appends up to max + 1 bytes: the extra byte shows that there are more than max. */
static int read_all(int fd, const char *path, size_t max, struct buf *out, struct err *err)
{
    for (size_t left = max < SIZE_MAX ? max + 1 : max; left;) {
        buf_reserve(out, left < READ_STEP ? left : READ_STEP);
        size_t room = out->cap - out->len - 1, step = left < room ? left : room;
        ssize_t n = read(fd, out->s + out->len, step);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "read '%s'", path);
        if (n == 0)
            break;
        out->len += (size_t)n;
        out->s[out->len] = '\0';
        left -= (size_t)n;
    }
    return 0;
}

int file_read_open(int fd, const char *path, size_t max, struct buf *out, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return input_error(err, EISDIR, "is a folder", path);
    if (S_ISREG(st.st_mode)) {
        if (st.st_size > 0 && (size_t)st.st_size > max)
            return size_error(err, path, true, (size_t)st.st_size, max);
        buf_reserve(out,
                    (size_t)st.st_size + READ_STEP); /* extra room, to detect the end of file */
    }
    size_t before = out->len;
    if (read_all(fd, path, max, out, err) < 0) {
        buf_cut(out, before);
        return -1;
    }
    size_t size = out->len - before;
    if (size <= max)
        return 0;
    buf_cut(out, before);
    return size_error(err, path, false, size, max);
}

/* Refuses files that block or have no end. */
static int check_kind(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return input_error(err, EISDIR, "is a folder", path);
    return S_ISREG(st.st_mode) ? 0 : input_error(err, ENXIO, "is not a regular file", path);
}

int file_open(int at, const char *path, int flags, int *ret_fd, struct err *err)
{
    autoclose int fd = openat(at, path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENXIO) /* a FIFO that nobody reads, or a socket */
        return input_error(err, ENXIO, "is not a regular file", path);
    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    if (check_kind(fd, path, err))
        return -1;
    *ret_fd = steal_fd(&fd);
    return 0;
}

static int read_regular(const char *path, int flags, size_t max, struct buf *out, struct err *err)
{
    autoclose int fd = -1;
    return file_open(AT_FDCWD, path, O_RDONLY | flags, &fd, err) ||
                   file_read_open(fd, path, max, out, err)
               ? -1
               : 0;
}

int file_read(const char *path, size_t max, struct buf *out, struct err *err)
{
    return read_regular(path, 0, max, out, err);
}

int file_read_own(const char *path, size_t max, struct buf *out, struct err *err)
{
    return read_regular(path, O_NOFOLLOW, max, out, err);
}

int file_read_end(const char *path, size_t max, struct buf *out, bool *ret_cut, struct err *err)
{
    autoclose int fd = -1;
    size_t before = out->len;
    if (file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, err))
        return -1;
    off_t size = lseek(fd, 0, SEEK_END), at = size > (off_t)max ? size - (off_t)max : 0;
    if (size < 0 || lseek(fd, at, SEEK_SET) < 0)
        return err_sys(err, "read '%s'", path);
    if (read_all(fd, path, (size_t)(size - at), out, err)) {
        buf_cut(out, before);
        return -1;
    }
    if (out->len - before > (size_t)(size - at)) /* the file grew meanwhile */
        buf_cut(out, before + (size_t)(size - at));
    *ret_cut = at > 0;
    return 0;
}

int file_read_input(const char *path, size_t max, struct buf *out, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return file_read_open(STDIN_FILENO, "standard input", max, out, err);
    if (strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0)
        return file_read(path, max, out, err);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    return file_read_open(fd, path, max, out, err);
}

bool file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

bool file_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

bool file_is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

bool file_resolves(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_resolves_in(const char *dir, const char *name)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return file_resolves(path);
}

int file_read_link(int folder, const char *name, struct buf *out)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, name, target, sizeof(target));
    if ((size_t)n == sizeof(target))
        errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n == sizeof(target))
        return -1;
    buf_add(out, target, (size_t)n);
    return 0;
}

bool file_read_exactly(int fd, size_t len, struct buf *out)
{
    size_t end = out->len + len;
    buf_reserve(out, len);
    while (out->len < end) {
        ssize_t n = read(fd, out->s + out->len, end - out->len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        out->len += n > 0 ? (size_t)n : 0;
        out->s[out->len] = '\0';
    }
    return true;
}

int file_write(int fd, const char *s, size_t len)
{
    while (len) {
        ssize_t n = write(fd, s, len);
        if (n < 0 && errno != EINTR)
            return -1;
        s += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Some file systems report a full disk only at fsync() or close(). */
static int write_and_close(int fd, const char *path, const char *s, size_t len, bool sync,
                           struct err *err)
{
    int result = file_write(fd, s, len) ? err_sys(err, "write '%s'", path) : 0;
    if (result == 0 && sync && fsync(fd) < 0)
        result = err_sys(err, "write '%s'", path);
    if (close(fd) < 0 && result == 0)
        result = err_sys(err, "write '%s'", path);
    if (result < 0)
        (void)unlink(path);
    return result;
}

int file_create(const char *path, const char *s, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 && errno == EEXIST)
        return input_error(err, EEXIST, "exists already", path);
    if (fd < 0)
        return err_sys(err, "create '%s'", path);
    return write_and_close(fd, path, s, len, false, err);
}

/* Makes an unused name in the folder of `path`; NULL if the system gives no random numbers. */
static char *name_beside(const char *path)
{
    uint64_t random;
    const char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    if (getentropy(&random, sizeof(random)) < 0)
        return NULL;
    return mem_printf("%.*s.anabranch-%016llx", (int)dir, path, (unsigned long long)random);
}

/* The new name is on disk only after we sync its folder. Not every file system supports that, so we
 * ignore errors. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    autofree char *dir = slash ? mem_dup(path, (size_t)(slash - path) + 1) : mem_str(".");
    autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd);
}

static int replace_file(const char *path, const char *s, size_t len, mode_t mode, struct err *err)
{
    autofree char *beside = name_beside(path);
    struct stat st;
    if (!beside)
        return err_sys(err, "write '%s'", path);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return input_error(err, 0, S_ISLNK(st.st_mode) ? "is a symlink" : "is not a file", path);
    /* open() instead of mkstemp(): mkstemp() would deny access to all others, whatever the umask
     * is. */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
    if (fd < 0)
        return err_sys(err, "create '%s'", beside);
    if (write_and_close(fd, beside, s, len, true, err))
        return -1;
    if (rename(beside, path) < 0) {
        (void)err_sys(err, "write '%s'", path);
        (void)unlink(beside);
        return -1;
    }
    sync_folder(path);
    return 0;
}

static int write_copy(int to, const char *as, const struct buf *bytes, const struct stat *st,
                      struct err *err)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    int fd = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(err, "create '%s'", as);
    int rc = 0;
    if (file_write(fd, bytes->s, bytes->len) || futimens(fd, times) < 0)
        rc = err_sys(err, "write '%s'", as);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(err, "write '%s'", as);
    if (rc)
        (void)unlinkat(to, as, 0);
    return rc;
}

/* Copies the file to another file system and then removes the original. */
static int move_bytes(int from, const char *name, int to, const char *as, struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    autoclose int fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "move '%s'", name);
    if (!S_ISREG(st.st_mode))
        return input_error(err, 0, "is not a file", name);
    if (file_read_open(fd, name, SIZE_MAX, &bytes, err) || write_copy(to, as, &bytes, &st, err))
        return -1;
    return unlinkat(from, name, 0) < 0 ? err_sys(err, "move '%s' to '%s'", name, as) : 0;
}

int file_move_at(int from, const char *name, int to, const char *as, struct err *err)
{
    if (renameat(from, name, to, as) == 0)
        return 0;
    return errno == EXDEV ? move_bytes(from, name, to, as, err)
                          : err_sys(err, "move '%s' to '%s'", name, as);
}

#ifdef __linux__
/* In memory: on some disks even truncating a small file is slow. */
static int open_scratch(struct err *err)
{
    int fd = memfd_create("anabranch", MFD_CLOEXEC);
    return fd < 0 ? err_sys(err, "make a file in memory") : fd;
}
#else
static int open_scratch(struct err *err)
{
    const char *dir = getenv("TMPDIR");
    autofree char *path = mem_printf("%s/anabranch-XXXXXX", dir && *dir ? dir : "/tmp");
    autoclose int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "create '%s'", path);
    return unlink(path) < 0 ? err_sys(err, "remove '%s'", path) : steal_fd(&fd);
}
#endif

int file_scratch(int *ret_fd, struct err *err)
{
    int fd = open_scratch(err);
    if (fd < 0)
        return -1;
    *ret_fd = fd;
    return 0;
}

int file_refill(int fd, const char *s, size_t len, struct err *err)
{
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, "empty a scratch file");
    if (file_write(fd, s, len))
        return err_sys(err, "write a scratch file");
    return lseek(fd, 0, SEEK_SET) < 0 ? err_sys(err, "rewind a scratch file") : 0;
}

int file_replace(const char *path, const char *s, size_t len, struct err *err)
{
    return replace_file(path, s, len, 0666, err);
}

int file_replace_private(const char *path, const char *s, size_t len, struct err *err)
{
    return replace_file(path, s, len, 0600, err);
}

int file_sync_system(const char *path, struct err *err)
{
#ifdef __linux__
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 || syncfs(fd) < 0 ? err_sys(err, "sync '%s'", path) : 0;
#else
    (void)path;
    (void)err;
    sync();
    return 0;
#endif
}
