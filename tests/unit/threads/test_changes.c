/*
 * Random edits in a real worktree: our answer must match a complete `git status`. The numbers are
 * pseudo-random and always the same, so that a failure is reproducible.
 */
#include "threads/status/changes.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/tree/work_scan.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"
#include "shell.h"
#include "sys/own_fd.h"

enum { ROUNDS = 150 };

struct fixture {
    char *dir, *index;
    struct git_repo repo;
    struct git_batch *batch;
    struct thread thread;
    struct git_place at;
    unsigned clean, asked, left; /* rounds in which the scan found nothing, something, or gave up */
};

static void in_tree(const struct fixture *f, const char *line)
{
    free(shell(f->thread.path, line));
}

static int set_up_with(void **state, const char *format)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    *state = f;
    f->dir = mem_str("/tmp/anabranch changes-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    autofree char *init = mem_printf(
        "git init -q --object-format=%s -b main repo && cd repo && mkdir -p a/a/b a.b b && "
        "for p in a/a/a a/a/b/a a/a/b/b a/b a/a0 a.b/a a-b a0 b/a b/a.b; do echo $p >$p; done && "
        "echo '*.ign' >.gitignore && echo build/ >b/.gitignore && : >empty && chmod +x a0 && "
        "ln -s a-b link && ln -s a linked && git add -A && git commit -q -m start && "
        "git worktree add -q -b t ../tree",
        format);
    free(shell(f->dir, init));
    f->thread = (struct thread){.id = mem_str("t"),
                                .branch = mem_str("refs/heads/t"),
                                .path = mem_printf("%s/tree", f->dir),
                                .admin = mem_printf("%s/repo/.git/worktrees/tree", f->dir)};
    f->index = mem_printf("%s/index", f->thread.admin);
    if (git_open(&f->repo, f->thread.path, NULL))
        return -1;
    f->batch = git_batch_new(f->repo.common);
    f->at = (struct git_place){
        .git_dir = f->thread.admin, .common = f->repo.common, .work_tree = f->thread.path};
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, "sha1");
}

static int set_up_sha256(void **state)
{
    return set_up_with(state, "sha256");
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = dirs_remove(f->dir, NULL);
    git_batch_free(f->batch);
    thread_done(&f->thread);
    git_close(&f->repo);
    free(f->index);
    free(f->dir);
    free(f);
    return rc;
}

/* Reports */

/* As `git status` has it, a line for each: what is checked out, then all that is not committed. */
static char *by_git(const struct fixture *f)
{
    autobuf struct buf out = BUF_INIT, lines = BUF_INIT;
    struct err err = {0};
    if (git_call(&f->at, &out, &err, "-C", f->thread.path, "status", "--porcelain", "--branch",
                 "-z", "--untracked-files=all", "--renames", NULL))
        fail_msg("%s", err.msg);
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        const char *entry = p;
        if (*p == 'R')
            buf_addf(&lines, "D  %s\n", p += strlen(p) + 1);
        if (strcmp(entry, "?? " THREAD_BRIEF) != 0)
            buf_addf(&lines, "%s\n", entry);
    }
    return buf_steal(&lines);
}

static void add_branch(struct buf *lines, const char *elsewhere)
{
    const char *branch = elsewhere ? elsewhere : "t";
    buf_addf(lines, "## %s\n", strcmp(branch, "(detached)") == 0 ? "HEAD (no branch)" : branch);
}

static char *by_us(struct fixture *f, char **ret_head)
{
    struct thread_look look = {.thread = &f->thread, .paths = BUF_INIT};
    struct thread_looks looks = {.v = &look, .n = 1};
    autobuf struct buf lines = BUF_INIT;
    struct err err = {0};
    if (thread_changes(&looks, &f->repo, f->batch, &err))
        fail_msg("%s", err.msg);
    if (look.problem)
        fail_msg("%s", look.problem);
    add_branch(&lines, look.elsewhere);
    for (size_t i = 0; i < look.uncommitted.n; i++)
        buf_addf(&lines, "%s\n", look.uncommitted.v[i]);
    strv_done(&look.uncommitted);
    free(look.elsewhere);
    *ret_head = look.head;
    return buf_steal(&lines);
}

/* Counts the results of the scan: ask git, changes, no changes. */
static void count(struct fixture *f, const char *tree)
{
    autoworkscan struct work_scan scan;
    if (!work_scan_open(&scan, f->thread.path, f->index, tree))
        f->left++;
    else if (scan.changed.n + scan.untracked.n)
        f->asked++;
    else
        f->clean++;
}

static void check(struct fixture *f)
{
    autofree char *head = NULL, *is = by_us(f, &head), *expected = by_git(f);
    autofree char *ids = shell(f->thread.path, "git rev-parse HEAD HEAD^{tree}");
    char *rest = ids, *commit = strsep(&rest, "\n"), *tree = strsep(&rest, "\n");
    assert_string_equal(is, expected);
    assert_string_equal(head, commit);
    count(f, tree);
}

/* Edits */

/* Names that sort differently as files and as folders, and two that are ignored. */
static char *some_path(const struct fixture *f)
{
    static const char *const names[] = {"a", "a.b", "a-b", "a0", "b", "build", "c.ign"};
    autobuf struct buf path = BUF_INIT;
    buf_addstr(&path, f->thread.path);
    for (unsigned depth = 1 + pick(4); depth; depth--)
        buf_addf(&path, "/%s", names[pick(7)]);
    return buf_steal(&path);
}

static void make_parents(const char *path)
{
    autofree char *folder = mem_dup(path, (size_t)(strrchr(path, '/') - path));
    (void)dirs_make_open(folder, NULL);
}

static void put(const char *path, const char *text)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0)
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Another content of the same size, as of the same time. */
static void overwrite(const char *path)
{
    struct stat st;
    autoclose int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    assert_true(pwrite(fd, "#", st.st_size > 0, 0) >= 0);
    assert_int_equal(futimens(fd, times), 0);
}

static void toggle_mode(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        assert_int_equal(chmod(path, st.st_mode ^ 0100), 0);
}

static void make_link(const char *path, const char *target)
{
    assert_true(symlink(target, path) == 0 || errno != EEXIST);
}

/* As much of a repository as git needs to see one. */
static void make_repository(const char *path)
{
    static const char *const folders[] = {"objects", "refs"};
    for (size_t i = 0; i < 2; i++) {
        autofree char *folder = mem_printf("%s/.git/%s", path, folders[i]);
        (void)dirs_make_open(folder, NULL);
    }
    autofree char *head = mem_printf("%s/.git/HEAD", path);
    put(head, "ref: refs/heads/inner\n");
}

static void edit(const char *path)
{
    autofree char *inner = mem_printf("%s/new", path);
    switch (pick(11)) {
    case 0:
        make_parents(path);
        put(path, pick(2) ? "text\n" : "");
        break;
    case 1:
        overwrite(path);
        break;
    case 2:
        (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
        break;
    case 3:
        toggle_mode(path);
        break;
    case 4:
        (void)unlink(path);
        break;
    case 5:
        (void)dirs_remove(path, NULL);
        break;
    case 6: /* a folder, perhaps in the place of a file */
        (void)unlink(path);
        (void)dirs_make_open(path, NULL);
        put(inner, "text\n");
        break;
    case 7:
        (void)dirs_remove(path, NULL);
        make_link(path, pick(2) ? "a" : "nowhere");
        break;
    case 8:
        (void)dirs_make_open(path, NULL);
        break;
    case 9:
        make_repository(path);
        put(inner, pick(2) ? "text\n" : "");
        break;
    default: /* a file, perhaps in the place of a folder */
        (void)dirs_remove(path, NULL);
        put(path, "text\n");
    }
}

/* Lets git change something, most often to restart from a clean tree. */
static void let_git_do(struct fixture *f)
{
    static const char *const lines[] = {
        "git add -A",
        "git add -A && git commit -q --allow-empty -m work",
        "git commit -q -a --allow-empty -m work",
        "git rm -q -r --cached --ignore-unmatch a",
        "git mv -k a-b moved",
        "echo new >intended && git add -N -f intended",
        "git update-index --refresh",
        "git update-index --index-version 4",
        "git update-index --index-version 2",
        "git update-index --assume-unchanged a0",
        "git pack-refs --all",
        "git switch -q --detach",
        "git switch -q t",
        "git switch -q -C other",
        "git stash -q",
        "git config core.fileMode false",
        "git config core.trustctime false",
        "git config core.checkStat minimal",
        "git config core.ignoreCase true",
        "git config core.symlinks false",
        "git config core.untrackedCache true",
        "git update-index --split-index",
        "echo brief >THREAD_BRIEF.md",
        "mkdir THREAD_BRIEF.md && : >THREAD_BRIEF.md/inner",
    };
    static const char anew[] =
        "git config core.fileMode true && git config core.symlinks true && "
        "git symbolic-ref HEAD refs/heads/t && git read-tree --empty && git clean -q -ffdx && "
        "git reset -q --hard main && find . -type f -exec touch -t 200101010000 {} + && "
        "git update-index -q --refresh";
    autofree char *line = mem_printf("%s 2>/dev/null || :", lines[pick(ARRAY_LEN(lines))]);
    in_tree(f, pick(3) ? anew : line);
}

static void edit_at_random(struct fixture *f)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (pick(3) == 0)
            let_git_do(f);
        for (unsigned n = pick(4); n; n--) {
            autofree char *path = some_path(f);
            edit(path);
        }
        check(f);
    }
}

static void it_is_what_git_says(void **state)
{
    struct fixture *f = *state;
    edit_at_random(f);
    assert_in_range(f->clean, ROUNDS / 20, ROUNDS); /* all three were seen */
    assert_in_range(f->asked, ROUNDS / 4, ROUNDS);
    assert_in_range(f->left, 1, ROUNDS / 2);
}

/* Questions for git */

static void a_branch_may_stand_for_another(void **state)
{
    struct fixture *f = *state;
    in_tree(f, "git branch -q u && git symbolic-ref refs/heads/t refs/heads/u");
    check(f);
}

static void a_branch_may_be_packed(void **state)
{
    struct fixture *f = *state;
    in_tree(f, "git pack-refs --all && test ! -e ../repo/.git/refs/heads/t");
    check(f);
    in_tree(f, "mkdir -p ../repo/.git/refs/heads/t");
    check(f);
}

static void a_branch_may_be_gone(void **state)
{
    struct fixture *f = *state;
    autofree char *head = NULL;
    in_tree(f, "git update-ref -d refs/heads/t");
    free(by_us(f, &head));
    assert_string_equal(head, "(initial)");
}

/* git says that paths cannot be taken as they are and without regard to case. */
static void paths_may_be_refused(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(setenv("GIT_ICASE_PATHSPECS", "1", 1), 0);
    in_tree(f, "echo new >new && echo longer >a0");
    check(f);
    assert_int_equal(unsetenv("GIT_ICASE_PATHSPECS"), 0);
    assert_int_equal(f->asked, 1);
}

static void git_tells_what_is_wrong(void **state)
{
    struct fixture *f = *state;
    struct thread_look look = {.thread = &f->thread, .paths = BUF_INIT};
    struct thread_looks looks = {.v = &look, .n = 1};
    assert_int_equal(truncate(f->index, 20), 0);
    assert_int_equal(thread_changes(&looks, &f->repo, f->batch, NULL), 0);
    assert_non_null(strstr(look.problem, "index file"));
    assert_null(look.head);
    free(look.problem);
}

#define once(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        once(it_is_what_git_says),
        cmocka_unit_test_setup_teardown(it_is_what_git_says, set_up_sha256, tear_down),
        once(a_branch_may_stand_for_another),
        once(a_branch_may_be_packed),
        once(a_branch_may_be_gone),
        once(paths_may_be_refused),
        once(git_tells_what_is_wrong),
    };
    (void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    (void)setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
