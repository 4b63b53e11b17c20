#include "git/checkout/user_files.h"
#include "git/format/index.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

static void git(const char *dir, const char *line)
{
    free(shell(dir, line));
}

static int make_repository(void **state)
{
    if (make_folder(state))
        return -1;
    git(*state, "git init -q . && mkdir -p d/e && echo 1 >a && echo 2 >d/e/b && echo 3 >d/e/bc && "
                "echo 4 >d/z && ln -s a link && git add .");
    return 0;
}

/* Returns true if the index can be read; appends the paths of its ordinary entries. */
static bool read_index(const char *path, struct buf *out)
{
    autogitindex struct git_index x;
    assert_int_equal(git_index_open(&x, path, 40, NULL), 0);
    for (struct git_index_entry e; git_index_next(&x, &e);) {
        if (!e.unmerged && !e.intended && !e.unseen)
            buf_addf(out, "%s ", e.path);
    }
    return x.good;
}

static char *index_paths(const char *dir, bool expected)
{
    autofree char *path = mem_printf("%s/.git/index", dir);
    autobuf struct buf out = BUF_INIT;
    assert_int_equal(read_index(path, &out), expected);
    return buf_steal(&out);
}

static void every_version_of_an_index_is_read(void **state)
{
    for (int version = 2; version <= 4; version++) {
        autofree char *line = mem_printf("git update-index --index-version %d", version);
        git(*state, line);
        autofree char *paths = index_paths(*state, true);
        assert_string_equal(paths, "a d/e/b d/e/bc d/z link ");
    }
    git(*state, "git update-index --index-version 2 && git update-index --skip-worktree a && "
                "git update-index --assume-unchanged d/z && echo 5 >new && git add -N new");
    autofree char *paths = index_paths(*state, true);
    assert_string_equal(paths, "d/e/b d/e/bc link ");
}

/* Cut off or altered anywhere, it is refused or read, and nothing else happens. */
static void a_damaged_index_does_no_harm(void **state)
{
    autofree char *path = mem_printf("%s/.git/index", (char *)*state);
    autobuf struct buf whole = BUF_INIT;
    assert_int_equal(file_read(path, SIZE_MAX, &whole, NULL), 0);
    for (size_t i = 0; i < whole.len; i++) {
        autobuf struct buf out = BUF_INIT;
        assert_int_equal(file_replace(path, whole.s, i, NULL), 0);
        (void)read_index(path, &out);
        char was = whole.s[i];
        whole.s[i] = (char)~was;
        assert_int_equal(file_replace(path, whole.s, whole.len, NULL), 0);
        (void)read_index(path, &out);
        whole.s[i] = was;
    }
    git(*state, "git read-tree --empty && git add . && git update-index --split-index");
    free(index_paths(*state, false));
}

static void assert_look(struct user_files *c, const char *expected)
{
    autostrv struct strv paths = {0};
    autobuf struct buf out = BUF_INIT;
    bool looked;
    assert_int_equal(user_files_look(c, &paths, &looked, NULL), 0);
    assert_true(looked);
    for (size_t i = 0; i < paths.n; i++)
        buf_addf(&out, "%s ", paths.v[i]);
    assert_string_equal(out.s, expected);
}

static void changes_are_seen_once(void **state)
{
    struct git_repo repo;
    struct user_files c;
    git(*state, "echo mine >d/z");
    assert_int_equal(git_open(&repo, *state, NULL), 0);
    assert_int_equal(user_files_open(&c, &repo, 40, NULL), 0);
    assert_look(&c, ""); /* what was changed before is the user's */
    git(*state, "echo other >a && rm d/e/b && touch d/e/bc && echo new >untracked");
    assert_look(&c, "a d/e/b ");
    assert_look(&c, "");
    git(*state, "echo theirs now >d/z && chmod +x a");
    assert_look(&c, "a d/z ");
    git(*state, "echo committed >d/e/bc && git add -A");
    assert_look(&c, "");
    user_files_close(&c);
    git_close(&repo);
}

static void git_at_work_is_waited_for(void **state)
{
    struct git_repo repo;
    struct user_files c;
    autostrv struct strv paths = {0};
    bool looked;
    assert_int_equal(git_open(&repo, *state, NULL), 0);
    assert_int_equal(user_files_open(&c, &repo, 40, NULL), 0);
    git(*state, "touch .git/index.lock && echo other >a");
    assert_int_equal(user_files_look(&c, &paths, &looked, NULL), 0);
    assert_false(looked);
    assert_int_equal(paths.n, 0);
    git(*state, "rm .git/index.lock");
    assert_look(&c, "a ");
    user_files_close(&c);
    git_close(&repo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_version_of_an_index_is_read, make_repository,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_damaged_index_does_no_harm, make_repository,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(changes_are_seen_once, make_repository, remove_folder),
        cmocka_unit_test_setup_teardown(git_at_work_is_waited_for, make_repository, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
