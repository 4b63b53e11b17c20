/* The copy of git's configuration has the same values as the configuration, for any content. */
#include "git/config/frozen_config.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

#define good(call) assert_true((call) == 0 || (print_message("%s\n", err.msg), 0))

static const char odd[] =
    "[user]\n\tname = \"  A \\\"B\\\" \\\\ # ; \\t c\\nd  \"\n\temail = x@y\n"
    "[branch \"a.b \\\"c\\\" \\\\ ]\"]\n\tremote = .\n\tmerge = refs/heads/'x'\n"
    "[alias]\n\tst\n[merge \"own\"]\n\tname = it's own\n"
    "[remote \"r\"]\n\tfetch = 1\n\tfetch = 2\n[include]\n\tpath = more\n"
    "[filter \"f\"]\n\tclean = sed 's/\"a\"/b/' %f | cat\n";

static void write_file(const char *dir, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct err err = {0};
    good(file_replace(path, text, strlen(text), &err));
}

/* Lists the repository's own settings as a git at this place sees them, in git's order. */
static void list(const struct git_place *at, struct buf *out)
{
    struct err err = {0};
    good(git_call(at, out, &err, "config", "--local", "--includes", "--list", "-z", NULL));
}

/* Less the settings that are not to be in the copy, or in another form. */
static void drop(struct buf *list, const char *beginning)
{
    autobuf struct buf kept = BUF_INIT;
    for (const char *s = list->s; s < list->s + list->len; s += strlen(s) + 1) {
        if (strncmp(s, beginning, strlen(beginning)) != 0)
            buf_add(&kept, s, strlen(s) + 1);
    }
    buf_cut(list, 0);
    buf_add(list, kept.s, kept.len);
}

static char *freeze(const char *folder, struct git_repo *repo)
{
    autofree char *git_dir = mem_printf("%s/.git", folder);
    autofree char *runs = mem_printf("%s/anabranch/runs/R", git_dir);
    char *dir = mem_printf("%s/run.git", runs);
    struct git_place at = {.git_dir = git_dir};
    struct err err = {0};
    good(git_call(&at, NULL, &err, "init", "-q", "-b", "main", NULL));
    write_file(git_dir, "more", "[core]\n\tautocrlf = input\n");
    write_file(git_dir, "config", odd);
    good(git_open(repo, folder, &err));
    good(dirs_make(runs, &err));
    good(git_freeze(repo, dir, "/bin/true", &err));
    return dir;
}

static void copy_says_the_same(void **state)
{
    autobuf struct buf live = BUF_INIT, copy = BUF_INIT;
    struct git_repo repo;
    autofree char *dir = freeze(*state, &repo);
    struct git_place at = {.git_dir = repo.common};
    list(&at, &copy);
    at.live = true;
    list(&at, &live);
    drop(&live, "include.");
    drop(&live, "filter.");
    assert_non_null(strstr(copy.s, "user.name\n  A \"B\" \\ # ; \t c\nd  "));
    drop(&copy, "filter.");
    assert_int_equal(copy.len, live.len);
    assert_memory_equal(copy.s, live.s, live.len);
    git_frozen_remove(dir);
    git_close(&repo);
}

/* An agent writes them anew. */
static void copy_stays(void **state)
{
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    autostrv struct strv news = {0};
    struct git_repo repo, now;
    struct err err = {0};
    autofree char *dir = freeze(*state, &repo);
    struct git_place at = {.git_dir = repo.common};
    list(&at, &before);
    write_file(
        repo.common, "config",
        "[core]\n\tsshCommand = evil\n[credential]\n\thelper = secret\n[user]\n\tname = x\n");
    list(&at, &after);
    assert_string_equal(before.s, after.s);
    assert_int_equal(before.len, after.len);
    good(git_open(&now, *state, &err));
    git_frozen_news(&now, dir, &news);
    assert_int_equal(news.n, 2);
    assert_string_equal(news.v[0], "core.sshcommand=evil");
    assert_string_equal(news.v[1], "credential.helper");
    git_frozen_remove(dir);
    git_close(&repo);
    git_close(&now);
}

static void copy_is_nobody_elses(void **state)
{
    static const char *const names[] = {"config", "global", "settings"};
    struct git_repo repo;
    struct stat st;
    autofree char *dir = freeze(*state, &repo);
    assert_int_equal(lstat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s", dir, names[i]);
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    git_frozen_remove(dir);
    git_close(&repo);
}

/* The links are missing again and again, and each process makes them. */
static int use_often(struct git_repo *repo, const char *dir)
{
    autofree char *guard = mem_printf("%s/anabranch-guard", dir);
    autofree char *link = mem_printf("%s/objects", dir);
    struct err err = {0};
    int failed = 0;
    for (int i = 0; i < 300 && !failed; i++) {
        bool there;
        (void)unlink(i % 2 ? guard : link);
        failed = git_frozen_use(repo, dir, "/bin/true", &there, &err);
    }
    return failed != 0;
}

static void processes_use_it_at_once(void **state)
{
    enum { PROCESSES = 4 };
    struct git_repo repo;
    pid_t pids[PROCESSES];
    int failed = 0;
    autofree char *dir = freeze(*state, &repo);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(use_often(&repo, dir));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    assert_int_equal(failed, 0);
    git_frozen_remove(dir);
    git_close(&repo);
}

/* Names that only begin like ours are others' repositories. */
static void others_are_not_frozen(void **state)
{
    struct git_repo repo;
    autofree char *dir = freeze(*state, &repo);
    static const struct {
        const char *below;
        bool ours;
    } cases[] = {{"", true},
                 {"/worktrees/a", true},
                 {"/worktrees/a/modules/m", false},
                 {"/modules/m", false},
                 {"x", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *git_dir = mem_printf("%s%s", repo.common, cases[i].below);
        assert_int_equal(git_frozen_common(git_dir, NULL) != NULL, cases[i].ours);
        assert_int_equal(git_frozen_is_foreign(git_dir), !cases[i].ours);
    }
    git_frozen_remove(dir);
    git_close(&repo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copy_says_the_same, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(copy_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(processes_use_it_at_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(copy_is_nobody_elses, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(others_are_not_frozen, make_folder, remove_folder),
    };
    if (setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1) || setenv("GIT_CONFIG_NOSYSTEM", "1", 1))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
