/*
 * A work tree that was filled from another one is the same as git's checkout of the commit, for
 * any content of the other one.
 */
#include "workspace/fill/copy_fill.h"

#include "base/mem.h"
#include "sys/fs/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

/* Everything but times and the numbers of inodes. */
#define LIST                                                                                       \
    "(cd %s && find . -name .git -prune -o -printf '%%p %%y %%m %%l\\n' | sort && "                \
    "find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum) >%s.list"

static void run(void **state, const char *line)
{
    free(shell(*state, line));
}

/* Two commits: the second has a file less, one more, and one changed. */
static int make_repository(void **state, const char *format)
{
    if (make_folder(state))
        return -1;
    autofree char *init = mem_printf("git init -q --object-format=%s r", format);
    run(state, init);
    run(state, "cd r && mkdir -p d/e/f d/z 'odd \"\n\t' a.d a && echo 1 >a/x && echo 2 >a.d/y && "
               "echo 3 >a-x && echo 4 >d/e/f/deep && : >empty && echo 5 >x && chmod +x x && "
               "ln -s x link && ln -s nowhere d/dangling && echo 6 >'odd \"\n\t/ \\name' && "
               "echo 7 >d/old && echo 8 >d/z/changed && printf 'a\\r\\nb\\n' >crlf && "
               "seq 50000 >large && echo '*.o' >.gitignore && echo 9 >d/in.o && "
               "git add -f . && git commit -q -m 1 && git rm -q d/old && echo 88 >d/z/changed && "
               "echo 10 >d/new && git add . && git commit -q -m 2");
    return 0;
}

static int make_sha1(void **state)
{
    return make_repository(state, "sha1");
}

static int make_sha256(void **state)
{
    return make_repository(state, "sha256");
}

static size_t digits(void **state)
{
    autofree char *id = shell(*state, "git -C r rev-parse HEAD");
    return strcspn(id, "\n");
}

/* Copies into the worktree `w`, which there is no file in. */
static int copy(void **state, bool *ret_whole, struct err *err)
{
    const char *dir = *state;
    autofree char *from = mem_printf("%s/r", dir), *common = mem_printf("%s/r/.git", dir);
    autofree char *index = mem_printf("%s/index", common), *path = mem_printf("%s/w", dir);
    autofree char *admin = mem_printf("%s/worktrees/w", common);
    struct workspace ws = {.path = path, .admin = admin, .common = common};
    struct copy_fill job = {.from = from, .index = index, .to = &ws, .id_len = digits(state)};
    return copy_fill(&job, ret_whole, err);
}

/* Without what git copies of the settings of this one work tree. */
static void make_worktrees(void **state, const char *commit)
{
    autofree char *line =
        mem_printf("for w in w by-git; do git -C r worktree add -q --detach --no-checkout "
                   "\"$PWD/$w\" %s && rm -rf r/.git/worktrees/$w/config.worktree "
                   "r/.git/worktrees/$w/info || exit; done; git -C by-git read-tree -m -u HEAD",
                   commit);
    run(state, line);
}

/* Both are the same, and git says the same of them. */
static void compare(void **state)
{
    autofree char *lines = mem_printf(LIST " && " LIST, "w", "w", "by-git", "by-git");
    run(state, lines);
    run(state, "cmp w.list by-git.list");
    run(state, "git -C w ls-files -s >w.index && git -C by-git ls-files -s >by-git.index && "
               "cmp w.index by-git.index && test $(git -C w write-tree) = "
               "$(git -C w rev-parse 'HEAD^{tree}')");
    autofree char *changes = shell(*state, "git -C w status --porcelain");
    autofree char *usual = shell(*state, "git -C by-git status --porcelain");
    assert_string_equal(changes, usual);
}

/* Copies, lets git do the rest, and compares; so many files are to be copied, of 15. */
static void check(void **state, const char *commit, bool whole, const char *copied)
{
    struct err err = {0};
    bool is_whole;
    make_worktrees(state, commit);
    assert_int_equal(copy(state, &is_whole, &err), 0);
    autofree char *n = shell(*state, "git -C w ls-files | wc -l | tr -d ' \\n'");
    assert_string_equal(n, copied);
    assert_int_equal(is_whole, whole);
    if (!whole)
        run(state, "git -C w read-tree -m -u HEAD");
    compare(state);
}

static void check_after(void **state, const char *line, bool whole, const char *copied)
{
    autofree char *inside = mem_printf("cd r && %s", line);
    run(state, inside);
    check(state, "HEAD", whole, copied);
}

/* All together */

/* git opens no file of it to tell that nothing has changed: the stat data are there, and all files
 * are older than the index. */
static void a_copy_of_all_needs_no_git(void **state)
{
    check(state, "HEAD", true, "15");
    run(state, "git -C w diff-files --quiet && test -z \"$(find w -name .git -prune -o -type f "
               "-newer r/.git/worktrees/w/index -print)\"");
    autofree char *raced =
        shell(*state, "stat -c %.Y r/.git/worktrees/w/index && find w -name .git -prune -o -type f "
                      "-printf '%T@\\n' | sort -n | tail -n 1");
    assert_true(strtod(raced, NULL) > strtod(strchr(raced, '\n'), NULL));
}

/* As many as several threads have to do with. */
static void there_may_be_many_files(void **state)
{
    check_after(state,
                "mkdir -p m/n && seq 600 | split -a 4 -l 1 && seq 500 | split -a 4 -l 1 - m/ && "
                "seq 400 | split -a 4 -l 1 - m/n/ && git add . && git commit -q -m many",
                true, "1515");
}

static void the_index_may_be_of_another_version(void **state)
{
    check_after(state, "git update-index --index-version 4", true, "15");
}

static void times_do_not_matter(void **state)
{
    check_after(state, "touch -t 202001010000 x d/new && git update-index --refresh", true, "15");
}

/* Permissions are those that git gives. */
static void modes_are_those_of_git(void **state)
{
    mode_t before = umask(027);
    check_after(state, "chmod 600 a/x && chmod 4755 x && chmod 444 empty && chmod 700 d", true,
                "15");
    (void)umask(before);
}

static void harmless_attributes_are_fine(void **state)
{
    check_after(state,
                "printf '* text=auto\\n*.c text eol=lf\\n*.png binary\\n' >.gitattributes && "
                "git add . && git commit -q -m attributes",
                true, "16");
}

/* A part of the tree */

static void what_was_changed_is_left_to_git(void **state)
{
    check_after(state, "echo X >x && rm d/e/f/deep && ln -sf a link && : >d/new && echo >>empty",
                false, "10");
}

static void what_is_staged_is_left_to_git(void **state)
{
    check_after(state, "echo X >x && echo new >d/untracked && git add -A && git rm -q --cached a-x",
                false, "13");
}

static void what_is_of_another_kind_is_left_to_git(void **state)
{
    check_after(state,
                "rm -r x d/e a/x && mkfifo x && mkdir a/x && mkdir ../e ../e/f && "
                "echo 44 >../e/f/deep && ln -s ../../e d/e && rm -r a.d && echo file >a.d",
                false, "11");
}

/* git would say that it is unchanged. */
static void what_git_does_not_look_at_is_left_to_git(void **state)
{
    check_after(state,
                "git update-index --assume-unchanged x && git update-index --skip-worktree a-x && "
                "echo X >x && echo new >n && git add -N n",
                false, "13");
}

static void another_commit_is_made_of_what_is_the_same(void **state)
{
    check(state, "HEAD^", false, "13");
}

/* By the index the file is unchanged; git writes other line ends. */
static void what_was_converted_when_it_was_added_is_left_to_git(void **state)
{
    check_after(state,
                "echo '* text=auto' >.gitattributes && printf 'a\\r\\nb\\r\\n' >dos && "
                "git add . && git commit -q -m dos",
                false, "16");
}

static void a_setting_that_is_gone_makes_no_difference(void **state)
{
    check_after(state,
                "printf 'a\\r\\nb\\r\\n' >dos && git -c core.autocrlf=input add . && "
                "git commit -q -m dos",
                false, "15");
}

static void a_submodule_is_left_to_git(void **state)
{
    check_after(state,
                "git init -q s && git -C s commit -q --allow-empty -m s && "
                "git add s 2>/dev/null && git commit -q -m s",
                false, "15");
}

static void a_sparse_tree_is_filled_by_git(void **state)
{
    check_after(state, "git sparse-checkout set --cone --sparse-index d/z", false, "11");
}

/* Attributes */

static void what_gets_other_line_ends_is_left_to_git(void **state)
{
    check_after(state,
                "echo '*.bat eol=crlf' >d/.gitattributes && echo 1 >d/x.bat && git add . && "
                "git commit -q -m attributes",
                false, "16");
    autofree char *text = shell(*state, "cat w/d/x.bat");
    assert_string_equal(text, "1\r\n");
}

/* By the index, not by what the user has written. */
static void attributes_are_those_of_the_commit(void **state)
{
    check_after(state,
                "echo 'x ident' >.gitattributes && git add . && git commit -q -m attributes && "
                "echo 'large eol=crlf' >.gitattributes",
                false, "13");
}

static void what_is_filtered_is_left_to_git(void **state)
{
    check_after(
        state,
        "printf '[attr]m filter=f\n/x m\nwide working-tree-encoding=UTF-16\n' "
        ">.gitattributes && printf '\\377\\376a\\0' >wide && git config filter.f.clean 'tr 6 5' && "
        "git config filter.f.smudge 'tr 5 6' && git add . && git commit -q -m f",
        false, "15");
    autofree char *x = shell(*state, "cat w/x");
    assert_string_equal(x, "6\n");
}

static void attributes_of_the_repository_count(void **state)
{
    check_after(state, "echo 'x ident' >.git/info/attributes", false, "13");
}

static void attributes_of_the_user_count(void **state)
{
    check_after(state, "echo 'x ident' >../own && git config core.attributesFile \"$PWD/../own\"",
                false, "13");
}

static void settings_that_matter_only_on_the_way_in_are_fine(void **state)
{
    check_after(state,
                "git config core.autocrlf input && git config core.fileMode false && "
                "git config core.eol lf && git config core.fsync all",
                true, "15");
}

/* Nothing of the tree */

static void attributes_that_come_with_the_commit_leave_all_to_git(void **state)
{
    run(state, "cd r && echo 'x filter=f' >.gitattributes && git add . && git commit -q -m f && "
               "git config filter.f.smudge 'tr 5 6' && git config filter.f.clean 'tr 6 5' && "
               "git branch f && git reset -q --hard HEAD^");
    check(state, "f", false, "0");
    autofree char *x = shell(*state, "cat w/x");
    assert_string_equal(x, "6\n");
}

static void settings_that_change_content_leave_all_to_git(void **state)
{
    check_after(state, "git config core.autocrlf true", false, "0");
}

static void a_split_index_leaves_all_to_git(void **state)
{
    check_after(state, "git update-index --split-index", false, "0");
}

static void objects_that_stand_for_others_leave_all_to_git(void **state)
{
    check_after(state, "git replace $(git rev-parse HEAD:x) $(git rev-parse HEAD:a-x)", false, "0");
}

/* Failures */

/* Writes a file again and again, with what it has and something else, until it is killed. */
static pid_t start_writing(void **state)
{
    autofree char *path = mem_printf("%s/r/large", (char *)*state);
    struct buf text[2] = {BUF_INIT, BUF_INIT};
    assert_int_equal(file_read(path, SIZE_MAX, &text[0], NULL), 0);
    buf_addrep(&text[1], 'x', text[0].len);
    pid_t test = getpid(), pid = fork();
    for (int i = 0; pid == 0 && getppid() == test; i = !i) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, text[i].s, text[i].len) < 0 || close(fd) < 0)
            _exit(1);
    }
    if (pid == 0)
        _exit(0);
    for (int i = 0; i < 2; i++)
        buf_done(&text[i]);
    return pid;
}

/* The copy has the whole file, or nothing. */
static void a_file_may_be_written_meanwhile(void **state)
{
    pid_t writer = start_writing(state);
    int status;
    assert_true(writer > 0);
    for (int i = 0; i < 20; i++) {
        struct err err = {0};
        bool whole;
        run(state, "git -C r worktree add -q --detach --no-checkout ../w HEAD");
        assert_int_equal(copy(state, &whole, &err), 0);
        run(state, "cd w && git read-tree -m -u HEAD && seq 50000 | cmp - large && "
                   "git update-index --really-refresh && git diff-files --quiet");
        run(state, "git -C r worktree remove --force ../w");
    }
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_true(WIFSIGNALED(status));
}

/* A second try finds the index of the first. */
static void what_was_begun_is_gone_on_with(void **state)
{
    struct err err = {0};
    bool whole;
    run(state, "cd r && echo X >x");
    make_worktrees(state, "HEAD");
    assert_int_equal(copy(state, &whole, &err), 0);
    assert_int_equal(copy(state, &whole, &err), 0);
    assert_false(whole);
    run(state, "git -C w read-tree -m -u HEAD");
    compare(state);
}

/* As on a disk that is full. */
static void what_cannot_be_written_is_told(void **state)
{
    struct rlimit before, none;
    struct err err = {0};
    bool whole;
    make_worktrees(state, "HEAD");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int rc = copy(state, &whole, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.msg, "worktrees/w/index"));
    run(state, "test ! -e w/large -a ! -e r/.git/worktrees/w/index");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_sha1, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_of_all_needs_no_git),
        cmocka_unit_test_setup_teardown(another_commit_is_made_of_what_is_the_same, make_sha256,
                                        remove_folder),
        TEST(there_may_be_many_files),
        TEST(the_index_may_be_of_another_version),
        TEST(times_do_not_matter),
        TEST(modes_are_those_of_git),
        TEST(harmless_attributes_are_fine),
        TEST(what_was_changed_is_left_to_git),
        TEST(what_is_staged_is_left_to_git),
        TEST(what_is_of_another_kind_is_left_to_git),
        TEST(what_git_does_not_look_at_is_left_to_git),
        TEST(another_commit_is_made_of_what_is_the_same),
        TEST(what_was_converted_when_it_was_added_is_left_to_git),
        TEST(a_setting_that_is_gone_makes_no_difference),
        TEST(a_submodule_is_left_to_git),
        TEST(a_sparse_tree_is_filled_by_git),
        TEST(what_gets_other_line_ends_is_left_to_git),
        TEST(attributes_are_those_of_the_commit),
        TEST(what_is_filtered_is_left_to_git),
        TEST(attributes_of_the_user_count),
        TEST(settings_that_matter_only_on_the_way_in_are_fine),
        TEST(attributes_that_come_with_the_commit_leave_all_to_git),
        TEST(attributes_of_the_repository_count),
        TEST(settings_that_change_content_leave_all_to_git),
        TEST(a_split_index_leaves_all_to_git),
        TEST(objects_that_stand_for_others_leave_all_to_git),
        TEST(a_file_may_be_written_meanwhile),
        TEST(what_was_begun_is_gone_on_with),
        TEST(what_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
