#include "git/checkout/shared_state.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ID_A "1111111111111111111111111111111111111111"
#define ID_B "2222222222222222222222222222222222222222"

/* A folder that looks enough like a repository: nothing here asks git. */
struct fixture {
    char *dir;
    struct shared_state state;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", f->dir, name);
    autofree char *parent = mem_str(path);
    *strrchr(parent, '/') = '\0';
    assert_int_equal(dirs_make(parent, NULL), 0);
    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static void drop(const struct fixture *f, const char *name)
{
    autofree char *path = mem_printf("%s/%s", f->dir, name);
    assert_int_equal(unlink(path), 0);
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    *state = f;
    f->dir = mem_str("/tmp/anabranch-state-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    put(f, "HEAD", "ref: refs/heads/main\n");
    put(f, "config", "[core]\n\tbare = false\n");
    put(f, "refs/heads/main", ID_A "\n");
    put(f, "packed-refs",
        "# pack-refs with: peeled fully-peeled sorted \n" ID_A " refs/heads/old\n" ID_A
        " refs/tags/v1\n^" ID_B "\n");
    return shared_state_open(&f->state, f->dir, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = dirs_remove(f->dir, NULL);
    shared_state_close(&f->state);
    free(f->dir);
    free(f);
    return rc;
}

/* Returns the changes as "name:from:to", separated by blanks. */
static char *look(struct fixture *f)
{
    autobuf struct buf out = BUF_INIT;
    autochanges struct git_changes changes = {0};
    assert_int_equal(shared_state_look(&f->state, &changes, NULL), 0);
    for (size_t i = 0; i < changes.list.n; i++) {
        const struct git_change *c = &changes.list.v[i];
        buf_addf(&out, "%s%s:%.4s:%.4s", i ? " " : "", c->name, c->from.s ? c->from.s : "-",
                 c->to.s ? c->to.s : "-");
    }
    return buf_steal(&out);
}

static void assert_look(struct fixture *f, const char *expected)
{
    autofree char *seen = look(f);
    assert_string_equal(seen, expected);
}

static void nothing_is_no_change(void **state)
{
    assert_look(*state, "");
    assert_look(*state, "");
}

static void refs_come_move_and_go(void **state)
{
    struct fixture *f = *state;
    put(f, "refs/heads/main", ID_B "\n");
    put(f, "refs/heads/a/deep/one", ID_A "\n");
    assert_look(f, "refs/heads/a/deep/one:-:1111 refs/heads/main:1111:2222");
    drop(f, "refs/heads/a/deep/one");
    assert_look(f, "refs/heads/a/deep/one:1111:-");
}

/* The same second, the same size, and often the same inode. */
static void quick_moves_are_seen(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 50; i++) {
        put(f, "refs/heads/main", i % 2 ? ID_A "\n" : ID_B "\n");
        assert_look(f, i % 2 ? "refs/heads/main:2222:1111" : "refs/heads/main:1111:2222");
    }
}

static void packing_is_no_change(void **state)
{
    struct fixture *f = *state;
    put(f, "packed-refs",
        ID_A " refs/heads/main\n" ID_A " refs/heads/old\n" ID_A " refs/tags/v1\n");
    drop(f, "refs/heads/main");
    assert_look(f, "");
    put(f, "refs/heads/old", ID_B "\n");
    assert_look(f, "refs/heads/old:1111:2222");
    drop(f, "refs/heads/old");
    put(f, "packed-refs", ID_A " refs/heads/main\n" ID_B " refs/heads/old\n");
    assert_look(f, "refs/tags/v1:1111:-");
    drop(f, "packed-refs");
    assert_look(f, "refs/heads/main:1111:- refs/heads/old:2222:-");
}

static void unsorted_packed_refs_are_read(void **state)
{
    struct fixture *f = *state;
    put(f, "packed-refs", ID_A " refs/tags/v1\n" ID_A " refs/heads/old\n");
    assert_look(f, "");
    put(f, "packed-refs", ID_B " refs/tags/v1\n" ID_A " refs/heads/old\n");
    assert_look(f, "refs/tags/v1:1111:2222");
}

static void our_own_refs_are_left_out_but_saved_work_and_tips(void **state)
{
    struct fixture *f = *state;
    put(f, "refs/anabranch/runs/r", ID_A "\n");
    put(f, "refs/anabranch/runsmore/r", ID_A "\n");
    put(f, "refs/anabranch/modules/r/t", ID_A "\n");
    put(f, "refs/anabranch/salvage/r/t/1", ID_A "\n");
    put(f, "refs/heads/anabranch/r/t", ID_A "\n");
    put(f, "refs/heads/main.lock", ID_A "\n");
    put(f, "packed-refs",
        ID_A " refs/anabranch/runs/q\n" ID_A " refs/heads/old\n" ID_A " refs/tags/v1\n");
    assert_look(f, "refs/anabranch/runs/r:-:1111 refs/anabranch/salvage/r/t/1:-:1111 "
                   "refs/anabranch/runs/q:-:1111");
}

/* Made and taken away between two looks. */
static void a_ref_that_was_noted_is_missed(void **state)
{
    struct fixture *f = *state;
    shared_state_note_ref(&f->state, "refs/anabranch/salvage/r/t/1", ID_A);
    shared_state_note_ref(&f->state, "refs/anabranch/salvage/r/a/1", ID_A);
    put(f, "refs/anabranch/salvage/r/a/1", ID_A "\n");
    assert_look(f, "refs/anabranch/salvage/r/t/1:1111:-");
    assert_look(f, "");
}

static void files_are_seen_by_content_and_hooks_by_mode(void **state)
{
    struct fixture *f = *state;
    autofree char *hook = mem_printf("%s/hooks/pre-commit", f->dir);
    put(f, "hooks/pre-commit.sample", "x");
    put(f, "hooks/pre-commit", "#!/x");
    put(f, "config", "new");
    put(f, "info/exclude", "*.o");
    put(f, "info/refs", "what gc writes");
    put(f, "info/refs_Xy12Zz", "what gc writes");
    put(f, "worktrees/w/HEAD", ID_A "\n");
    put(f, "worktrees/w/index", "no matter");
    put(f, "worktrees/w/logs/HEAD", "no matter");
    assert_look(f, "config:[cor:new hooks/pre-commit:-:#!/x info/exclude:-:*.o "
                   "worktrees/w/HEAD:-:1111");
    assert_int_equal(chmod(hook, 0700), 0);
    assert_look(f, "hooks/pre-commit:#!/x:#!/x");
    put(f, "config", "new");
    assert_look(f, "");
    drop(f, "hooks/pre-commit");
    assert_int_equal(symlink("../x", hook), 0);
    assert_look(f, "hooks/pre-commit:#!/x:-> .");
    assert_string_equal(shared_state_get(&f->state, "hooks/pre-commit").s, "-> ../x");
    assert_null(shared_state_get(&f->state, "hooks/none").s);
}

static void make_fifo(const struct fixture *f, const char *name)
{
    autofree char *path = mem_printf("%s/%s", f->dir, name);
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void assert_text(const struct fixture *f, const char *name, const char *expected)
{
    autofree char *path = mem_printf("%s/%s", f->dir, name);
    autobuf struct buf text = BUF_INIT;
    assert_int_equal(file_read(path, 1 << 16, &text, NULL), 0);
    assert_string_equal(text.s, expected);
}

/* Each is named, and what was there before is there again. */
static void what_is_no_file_goes(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"HEAD", "config", "refs/heads/main", "refs/heads/new",
                                        "packed-refs"};
    autochanges struct git_changes changes = {0};
    autofree char *link = mem_printf("%s/refs/heads/zero", f->dir);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        make_fifo(f, names[i]);
    assert_int_equal(symlink("/dev/zero", link), 0);
    (void)alarm(10);
    assert_int_equal(shared_state_look(&f->state, &changes, NULL), 0);
    (void)alarm(0);
    assert_int_equal(changes.list.n, 0);
    assert_int_equal(changes.odd.n, ARRAY_LEN(names) + 1);
    assert_text(f, "HEAD", "ref: refs/heads/main\n");
    assert_text(f, "config", "[core]\n\tbare = false\n");
    assert_text(f, "refs/heads/main", ID_A "\n");
    assert_text(f, "packed-refs", ID_A " refs/heads/old\n" ID_A " refs/tags/v1\n");
    assert_int_equal(access(link, F_OK), -1);
    assert_look(f, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_no_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refs_come_move_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quick_moves_are_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packing_is_no_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unsorted_packed_refs_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(our_own_refs_are_left_out_but_saved_work_and_tips, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_ref_that_was_noted_is_missed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_seen_by_content_and_hooks_by_mode, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
