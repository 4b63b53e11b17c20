#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dir_sync.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <fcntl.h>
#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 60, EDITS = 12, NAMES = 7 };

static int set_up(void **state)
{
    char *dir = mem_str("/tmp/anabranch-mirror-XXXXXX");
    autofree char *top = NULL, *to = NULL;
    *state = dir;
    if (!mkdtemp(dir))
        return -1;
    top = mem_printf("%s/from/top", dir);
    to = mem_printf("%s/to", dir);
    return dirs_make(top, NULL) || dirs_make(to, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
    int rc = dirs_remove(*state, NULL);
    free(*state);
    return rc;
}

/* The state before */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void add_contents(struct buf *out, const FTSENT *e)
{
    char target[64];
    ssize_t n = S_ISLNK(e->fts_statp->st_mode) ? readlink(e->fts_path, target, sizeof(target)) : 0;
    if (n > 0)
        buf_add(out, target, (size_t)n);
    if (S_ISREG(e->fts_statp->st_mode))
        assert_int_equal(file_read(e->fts_path, 1 << 20, out, NULL), 0);
}

/* All entries of a tree with all that is to be the same; with inodes, all that may not change. */
static void list(void **state, const char *side, bool inodes, struct buf *out)
{
    autofree char *top = mem_printf("%s/%s/top", (char *)*state, side);
    char *const roots[] = {top, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    assert_non_null(fts);
    for (FTSENT *e; (e = fts_read(fts));) {
        const struct stat *st = e->fts_statp;
        if (e->fts_info == FTS_DP || S_ISFIFO(st->st_mode))
            continue;
        buf_addf(out, "%s %o %lld.%ld ", e->fts_path + strlen(top), (unsigned)st->st_mode,
                 (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        if (inodes)
            buf_addf(out, "%llu %lld.%ld ", (unsigned long long)st->st_ino,
                     (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
        add_contents(out, e);
        buf_addch(out, '\n');
    }
    assert_int_equal(fts_close(fts), 0);
}

static void assert_alike(void **state)
{
    autobuf struct buf a = BUF_INIT, b = BUF_INIT;
    list(state, "from", false, &a);
    list(state, "to", false, &b);
    assert_string_equal(a.s, b.s);
}

/* Changes */

static uint64_t seed = 1;

/* A number below n; the same ones each time. */
static int some(int n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)n);
}

/* Names that sort in other ways than their paths do. */
static char *some_path(void **state)
{
    static const char *const names[NAMES] = {"a", "a.b", "a-", "ab", "\1", "a\1", "~"};
    autobuf struct buf path = BUF_INIT;
    buf_addf(&path, "%s/from/top", (char *)*state);
    for (int depth = some(3); depth >= 0; depth--)
        buf_addf(&path, "/%s", names[some(NAMES)]);
    return buf_steal(&path);
}

/* Most fail: what is above is no folder. */
static void edit(void **state)
{
    autofree char *path = some_path(state);
    autofree char *text = mem_printf("%d", some(10));
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    int rc = 0;
    switch (some(8)) {
    case 0:
        rc = dirs_remove(path, NULL);
        break;
    case 1:
        rc = symlink(text, path);
        break;
    case 2:
        rc = mkfifo(path, 0600);
        break;
    case 3:
        rc = chmod(path, some(2) ? 0555 : 0750);
        break;
    case 4: /* as programs do that give all files one time */
        rc = unlink(path) || file_create(path, text, 1, NULL) ||
             utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
        break;
    case 5:
        rc = file_create(path, text, 1, NULL);
        break;
    default:
        rc = dirs_make_open(path, NULL);
    }
    (void)rc;
}

static bool run(void **state, bool look, const struct timespec *since)
{
    autofree char *from = mem_printf("%s/from", (char *)*state);
    autofree char *to = mem_printf("%s/to", (char *)*state);
    struct dir_sync m = {.from = from, .to = to, .path = "top", .look = look};
    struct dir_sync_count count;
    struct err err = {0};
    bool same = false;
    if (since)
        m.looked = m.changed = *since;
    if (dir_sync_run(&m, &count, &same, &err))
        fail_msg("%s", err.msg);
    return same;
}

static void test_random(void **state)
{
    struct timespec never = {0};
    for (int round = 0; round < ROUNDS; round++) {
        autobuf struct buf before = BUF_INIT, after = BUF_INIT;
        for (int i = some(EDITS); i > 0; i--)
            edit(state);
        if (round)
            list(state, "to", true, &before);
        bool same = round && run(state, true, &never);
        if (round)
            list(state, "to", true, &after);
        assert_string_equal(before.s, after.s);
        assert_int_equal(run(state, false, &never), same);
        assert_alike(state);
        assert_true(run(state, true, &never));
        assert_true(run(state, false, &never));
    }
}

/* We trust equal stat data only if the file was not changed since. */
static void test_bytes(void **state)
{
    autofree char *ours = mem_printf("%s/from/top/file", (char *)*state);
    autofree char *theirs = mem_printf("%s/to/top/file", (char *)*state);
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}}, later = {.tv_sec = INT64_MAX >> 8};
    assert_int_equal(file_create(ours, "one", 3, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, ours, times, 0), 0);
    assert_false(run(state, false, NULL));
    assert_int_equal(unlink(theirs), 0);
    assert_int_equal(file_create(theirs, "two", 3, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, theirs, times, 0), 0);
    assert_true(run(state, true, &later));
    assert_false(run(state, true, NULL));
    assert_false(run(state, false, NULL));
    assert_alike(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
