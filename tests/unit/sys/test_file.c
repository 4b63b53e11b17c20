#include "sys/fs/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Every test has a folder of its own. */
struct folder {
    char path[64];
};

static int setup(void **state)
{
    struct folder *f = mem_alloc(sizeof(*f));
    (void)snprintf(f->path, sizeof(f->path), "/tmp/anabranch-file-XXXXXX");
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

static int teardown(void **state)
{
    struct folder *f = *state;
    int result = rmdir(f->path);
    free(f);
    return result;
}

static char *in(void **state, const char *name)
{
    return mem_printf("%s/%s", ((struct folder *)*state)->path, name);
}

static void test_create_and_read(void **state)
{
    autofree char *path = in(state, "a");
    autobuf struct buf out = BUF_INIT;
    struct err err;
    buf_addstr(&out, ">");
    assert_int_equal(file_create(path, "x\0y\n", 4, &err), 0);
    assert_int_equal(file_read(path, 4, &out, &err), 0);
    assert_int_equal(out.len, 5);
    assert_memory_equal(out.s, ">x\0y\n", 6);
    assert_int_equal(unlink(path), 0);
}

static void check_move(const char *from, const char *to)
{
    const struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 1},
                                      {.tv_sec = 2000, .tv_nsec = 2}};
    autobuf struct buf out = BUF_INIT;
    struct err err;
    struct stat st;
    assert_int_equal(file_create(from, "text", 4, &err), 0);
    assert_int_equal(utimensat(AT_FDCWD, from, times, 0), 0);
    assert_int_equal(file_move_at(AT_FDCWD, from, AT_FDCWD, to, &err), 0);
    assert_true(lstat(from, &st) < 0);
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 2000);
    assert_int_equal(st.st_mtim.tv_nsec, 2);
    assert_int_equal(file_read(to, 100, &out, &err), 0);
    assert_string_equal(out.s, "text");
    assert_int_equal(file_move_at(AT_FDCWD, from, AT_FDCWD, to, &err), -1);
    assert_int_equal(err.errnum, ENOENT);
    assert_int_equal(unlink(to), 0);
}

static void test_move(void **state)
{
    autofree char *from = in(state, "a"), *to = in(state, "b");
    check_move(from, to);
}

/* A disk in memory is another one than that of our folder, mostly. */
static void test_move_far(void **state)
{
    if (access("/dev/shm", W_OK) < 0)
        skip();
    autofree char *from = in(state, "a"), *to = mem_printf("/dev/shm/anabranch-file-%d", getpid());
    check_move(from, to);
}

static void test_create_existing(void **state)
{
    autofree char *path = in(state, "a");
    autobuf struct buf out = BUF_INIT;
    struct err err;
    assert_int_equal(file_create(path, "old", 3, &err), 0);
    assert_int_equal(file_create(path, "new", 3, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(err.errnum, EEXIST);
    assert_non_null(strstr(err.msg, "exists already"));
    assert_int_equal(file_read(path, 100, &out, &err), 0);
    assert_string_equal(out.s, "old");
    assert_int_equal(unlink(path), 0);
}

static void test_create_nowhere(void **state)
{
    autofree char *path = in(state, "no/a");
    struct err err;
    assert_int_equal(file_create(path, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(err.errnum, ENOENT);
}

/* The limit on the size of files stands for a full disk: nothing may be left of the file. */
static void test_create_full_disk(void **state)
{
    autofree char *path = in(state, "a");
    autobuf struct buf large = BUF_INIT;
    struct err err;
    struct rlimit old, small;
    buf_addrep(&large, 'x', 10000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){1000, old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = file_create(path, large.s, large.len, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, before);
    assert_int_equal(result, -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(err.errnum, EFBIG);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_read_limit(void **state)
{
    autofree char *path = in(state, "a");
    autobuf struct buf out = BUF_INIT, large = BUF_INIT;
    struct err err;
    buf_addrep(&large, 'x', 3072);
    buf_addstr(&out, "kept");
    assert_int_equal(file_create(path, large.s, large.len, &err), 0);
    assert_int_equal(file_read(path, 2048, &out, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(err.errnum, EFBIG);
    assert_non_null(strstr(err.msg, "is 3.0 KiB (3072 bytes), more than the limit of 2.0 KiB"));
    assert_string_equal(out.s, "kept");
    assert_int_equal(file_read(path, 3072, &out, &err), 0);
    assert_int_equal(out.len, 3076);
    assert_int_equal(unlink(path), 0);
}

static void test_read_missing_and_folder(void **state)
{
    autofree char *path = in(state, "none");
    autobuf struct buf out = BUF_INIT;
    struct err err;
    assert_int_equal(file_read(path, 10, &out, &err), -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_int_equal(err.errnum, ENOENT);
    assert_int_equal(file_read(((struct folder *)*state)->path, 10, &out, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(err.errnum, EISDIR);
    assert_int_equal(file_read(path, 10, &out, NULL), -1);
}

/* The teardown fails where anything is left beside the file. */
static void test_replace(void **state)
{
    autofree char *path = in(state, "a"), *other = in(state, "b");
    autobuf struct buf out = BUF_INIT;
    struct err err;
    assert_int_equal(file_replace(path, "old", 3, &err), 0);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(file_replace(path, "new one", 7, &err), 0);
    assert_int_equal(file_read(path, 100, &out, &err), 0);
    assert_int_equal(file_read(other, 100, &out, &err), 0);
    assert_string_equal(out.s, "new oneold");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(other), 0);
}

static void test_replace_refuses(void **state)
{
    autofree char *target = in(state, "a"), *path = in(state, "b"), *nowhere = in(state, "no/c");
    autobuf struct buf out = BUF_INIT;
    struct err err;
    assert_int_equal(file_create(target, "kept", 4, &err), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(file_replace(path, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(file_read(target, 100, &out, &err), 0);
    assert_string_equal(out.s, "kept");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(file_replace(((struct folder *)*state)->path, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(file_replace(nowhere, "x", 1, &err), -1);
    assert_int_equal(err.errnum, ENOENT);
}

static int read_stdin(const char *text, size_t len, size_t max, struct buf *out, struct err *err)
{
    int fds[2], saved = dup(STDIN_FILENO);
    assert_true(saved >= 0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, len), len);
    assert_int_equal(close(fds[1]), 0);
    assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
    assert_int_equal(close(fds[0]), 0);
    int result = file_read_input("-", max, out, err);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    assert_int_equal(close(saved), 0);
    return result;
}

static void test_read_stdin(void **state)
{
    (void)state;
    autobuf struct buf out = BUF_INIT;
    struct err err;
    assert_int_equal(read_stdin("hello", 5, 5, &out, &err), 0);
    assert_string_equal(out.s, "hello");
    assert_int_equal(read_stdin("hello", 5, 3, &out, &err), -1);
    assert_int_equal(err.errnum, EFBIG);
    assert_string_equal(err.msg,
                        "'standard input' is at least 4 B (4 bytes), more than the limit of "
                        "3 B");
    assert_string_equal(out.s, "hello");
}

/* Nobody opens the other end, and there is none: each would wait, or read, for ever. */
static void test_no_file(void **state)
{
    autofree char *fifo = in(state, "fifo"), *sock = in(state, "sock"), *zero = in(state, "zero");
    const char *const paths[] = {fifo, sock, zero};
    const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT | O_APPEND, O_RDWR};
    autobuf struct buf out = BUF_INIT;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mknod(sock, S_IFSOCK | 0600, 0), 0);
    assert_int_equal(symlink("/dev/zero", zero), 0);
    (void)alarm(10);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct err err = {0};
        assert_int_equal(file_read(paths[i], 1 << 20, &out, &err), -1);
        assert_int_equal(err.errnum, ENXIO);
        assert_int_equal(file_read_input(paths[i], 1 << 20, &out, &err), -1);
        for (size_t k = 0; k < ARRAY_LEN(flags); k++) {
            int fd = -1;
            assert_int_equal(file_open(AT_FDCWD, paths[i], flags[k], &fd, &err), -1);
            assert_int_equal(err.errnum, ENXIO);
            assert_int_equal(fd, -1);
        }
        assert_int_equal(unlink(paths[i]), 0);
    }
    (void)alarm(0);
    assert_int_equal(out.len, 0);
}

static void test_own_symlink(void **state)
{
    autofree char *path = in(state, "a"), *link = in(state, "link");
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    assert_int_equal(file_create(path, "x", 1, NULL), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(file_read(link, 10, &out, &err), 0);
    assert_int_equal(file_read_own(link, 10, &out, &err), -1);
    assert_int_equal(err.errnum, ELOOP);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create_and_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_existing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_missing_and_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_move, setup, teardown),
        cmocka_unit_test_setup_teardown(test_move_far, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_symlink, setup, teardown),
        cmocka_unit_test(test_read_stdin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
