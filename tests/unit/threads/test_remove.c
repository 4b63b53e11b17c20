#include "threads/remove.h"

#include "base/mem.h"
#include "git/config/worktree_config.h"
#include "git/unsynced.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shell.h"

#define ODD "/a b; #c \"d\" \\e\n\tf'\xff  "

/* A real repository, made by git; user and system configuration are not looked at. */
struct fixture {
    char *dir;
    struct git_repo repo;
    char *config; /* as it was */
};

static char *sh(const struct fixture *f, const char *line)
{
    return shell(f->dir, line);
}

static void assert_says(const struct fixture *f, const char *line, const char *want)
{
    autofree char *got = sh(f, line);
    assert_string_equal(got, want);
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    *state = f;
    f->dir = mem_str("/tmp/anabranch-end-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    free(sh(f,
            "git init -q -b main . && git commit -q --allow-empty -m start && mkdir worktrees && "
            "echo '*' >worktrees/.gitignore"));
    f->config = sh(f, "cat .git/config");
    return git_open(&f->repo, f->dir, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = dirs_remove(f->dir, NULL);
    git_close(&f->repo);
    free(f->config);
    free(f->dir);
    free(f);
    return rc;
}

static void add_thread(const struct fixture *f, const char *id)
{
    autofree char *line = mem_printf("git worktree add -q -b t%s worktrees/%s", id, id);
    free(sh(f, line));
    struct thread t = {.id = mem_str(id),
                       .branch = mem_printf("refs/heads/t%s", id),
                       .goal = mem_str("g"),
                       .engine = mem_str("claude"),
                       .enforce = mem_str("warn"),
                       .base_commit = mem_str("c"),
                       .configured = true,
                       .admin = mem_printf("%s/worktrees/%s", f->repo.common, id)};
    assert_int_equal(worktree_config_set(t.admin, "core.hooksPath", "/before", NULL), 0);
    assert_int_equal(worktree_config_set(t.admin, "core.excludesFile", "/x", NULL), 0);
    assert_int_equal(worktree_config_set(t.admin, "core.hooksPath", ODD, NULL), 0);
    assert_int_equal(thread_save(&t, NULL), 0);
    thread_done(&t);
}

static void end_thread(const struct fixture *f, const char *id)
{
    autothreads struct threads ts;
    autofree char *tip = sh(f, "git rev-parse main");
    tip[strcspn(tip, "\n")] = '\0';
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(thread_remove(threads_find(&ts, id), &f->repo, tip, NULL), 0);
    assert_int_equal(threads_leave(&f->repo, threads_find(&ts, id), NULL), 0);
}

static void test_last_one_leaves_nothing(void **state)
{
    const struct fixture *f = *state;
    bool switched = false;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    assert_true(switched);
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    assert_false(switched);
    add_thread(f, "1");
    add_thread(f, "2");
    assert_says(f, "git -C worktrees/1 config core.excludesFile", "/x\n");
    assert_says(f, "git -C worktrees/1 config core.hooksPath", ODD "\n");
    end_thread(f, "1");
    assert_says(f, "ls -A worktrees; git branch --format='%(refname:short)'",
                ".gitignore\n2\nmain\nt2\n");
    assert_says(f, "git config extensions.worktreeConfig", "true\n");
    end_thread(f, "2");
    assert_says(f, "cat .git/config", f->config);
    assert_says(f, "ls -A; ls .git/worktrees 2>/dev/null; git branch --format='%(refname:short)'",
                ".git\nmain\n");
}

/* Folders beside the trees are the user's, but for what one left who was killed. */
static void test_only_what_was_noted_goes(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    add_thread(f, "1");
    add_thread(f, "2");
    free(sh(f, "cd worktrees && mkdir 1.gone 2.gone 2.gone-mine && touch 1.gone/mine 2.gone/mine"));
    end_thread(f, "1");
    free(sh(f, "mv worktrees/2 worktrees/2.gone-77 && printf 2.gone-77 "
               ">.git/worktrees/2/anabranch.gone"));
    end_thread(f, "2");
    assert_says(f, "ls -A worktrees; ls worktrees/*.gone",
                ".gitignore\n1.gone\n2.gone\n2.gone-mine\nworktrees/1.gone:\nmine\n\n"
                "worktrees/2.gone:\nmine\n");
    assert_says(f, "ls .git/worktrees 2>/dev/null; git branch --format='%(refname:short)'",
                "main\n");
}

/* A note that someone has changed leads nowhere else. */
static void test_a_note_names_no_other_folder(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    add_thread(f, "1");
    free(sh(f, "mkdir precious && printf 1.gone-/../../precious >.git/worktrees/1/anabranch.gone"));
    end_thread(f, "1");
    assert_says(f, "ls -d precious", "precious\n");
}

/* Killed when the extension was on, or was about to be, and no thread was there yet. */
static void test_what_was_switched_on_for_nobody(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    free(sh(f, "mkdir -p .git/anabranch && : >.git/anabranch/worktree-config"));
    assert_int_equal(threads_leave_none(&f->repo, NULL), 0);
    assert_says(f, "cat .git/config; ls .git/anabranch 2>/dev/null || :", f->config);
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    assert_true(worktree_config_is_ours(&f->repo));
    assert_int_equal(threads_leave_none(&f->repo, NULL), 0);
    assert_false(worktree_config_is_ours(&f->repo));
    assert_says(f, "cat .git/config; ls .git/anabranch 2>/dev/null || :", f->config);
}

/* A setting that the user switched on stays. */
static void test_what_is_the_users_stays_on(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    free(sh(f, "git config extensions.worktreeConfig true"));
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    assert_false(switched);
    assert_false(worktree_config_is_ours(&f->repo));
    assert_int_equal(threads_leave_none(&f->repo, NULL), 0);
    assert_says(f, "git config extensions.worktreeConfig", "true\n");
}

static void test_a_branch_that_moved_stays(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    add_thread(f, "1");
    autofree char *tip = sh(f, "git rev-parse main | tr -d '\\n'");
    free(sh(f, "git -C worktrees/1 commit -q --allow-empty -m more"));
    autothreads struct threads ts;
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    assert_int_equal(thread_remove(&ts.v[0], &f->repo, tip, NULL), -1);
    assert_says(f, "git log -1 --format=%s t1", "more\n");
}

static void test_others_settings_keep_it_on(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    add_thread(f, "1");
    free(sh(f, "git config --worktree user.name me && touch worktrees/mine"));
    end_thread(f, "1");
    assert_says(f, "git config extensions.worktreeConfig; git config user.name", "true\nme\n");
    assert_says(f, "ls -A worktrees", ".gitignore\nmine\n");
    free(sh(f, "git config --worktree --unset user.name"));
    assert_int_equal(worktree_config_off(&f->repo, NULL), 0);
    assert_says(f, "cat .git/config", f->config);
}

/* Settings of the main worktree alone do not apply to the others meanwhile. */
static void test_main_settings_move(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    free(sh(f, "git config core.worktree \"$PWD\" && git config core.bare true"));
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    free(sh(f, "git --git-dir=.git --work-tree=. worktree add -q -b t1 worktrees/1"));
    assert_says(f, "git -C worktrees/1 rev-parse --is-bare-repository", "false\n");
    assert_says(f, "git -C worktrees/1 rev-parse --show-prefix", "\n");
    assert_says(f, "git --git-dir=.git config core.bare", "true\n");
    free(sh(f, "git --git-dir=.git worktree remove worktrees/1"));
    assert_int_equal(worktree_config_off(&f->repo, NULL), 0);
    autofree char *want = mem_printf("true\n%s\n", f->dir);
    assert_says(f, "git config -f .git/config core.bare; git config -f .git/config core.worktree",
                want);
    assert_says(f,
                "git config -f .git/config extensions.worktreeConfig; ls .git/config.worktree "
                "2>/dev/null; true",
                "");
}

/* A worktree from before has no settings of its own, although the main one has some. */
static void test_an_older_worktree_lets_it_go(void **state)
{
    const struct fixture *f = *state;
    bool switched;
    free(sh(f, "git worktree add -q -b t1 worktrees/1 && git config core.worktree \"$PWD\""));
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    assert_says(f, "ls .git/config.worktree", ".git/config.worktree\n");
    assert_int_equal(worktree_config_off(&f->repo, NULL), 0);
    assert_says(f,
                "git config -f .git/config extensions.worktreeConfig; ls .git/config.worktree "
                "2>/dev/null; true",
                "");
}

/* A repository whose disk cannot be synced: the thread stays, with its worktree. */
static void test_what_cannot_be_synced_stays(void **state)
{
    const struct fixture *f = *state;
    autofree char *missing = mem_printf("%s/missing", f->dir);
    autothreads struct threads ts;
    const struct git_repo unknown = {.common = missing};
    bool switched;
    assert_int_equal(worktree_config_on(&f->repo, &switched, NULL), 0);
    add_thread(f, "1");
    assert_int_equal(threads_load(&ts, &f->repo, NULL), 0);
    unsynced_note();
    assert_int_equal(thread_remove(threads_find(&ts, "1"), &unknown, NULL, NULL), -1);
    assert_says(f, "ls worktrees", "1\n");
    end_thread(f, "1");
    assert_false(unsynced_is_noted());
    assert_says(f, "ls worktrees 2>/dev/null; true", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_last_one_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_what_was_noted_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_note_names_no_other_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_switched_on_for_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_the_users_stays_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_branch_that_moved_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_synced_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others_settings_keep_it_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_main_settings_move, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_older_worktree_lets_it_go, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
