#include "threads/hooks.h"

#include "base/mem.h"
#include "git/config/worktree_config.h"
#include "sys/fs/dirs.h"
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

/* A real repository with a worktree of the user's own, which has become a thread. */
struct fixture {
    char *dir;
    struct git_repo repo;
    struct thread thread;
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
    bool switched;
    *state = f;
    f->dir = mem_str("/tmp/anabranch hooks-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    free(sh(f, "git init -q -b main . && git commit -q --allow-empty -m start && "
               "git worktree add -q -b t tree"));
    f->thread = (struct thread){.id = mem_str("t"),
                                .engine = mem_str("claude"),
                                .path = mem_printf("%s/tree", f->dir),
                                .admin = mem_printf("%s/.git/worktrees/tree", f->dir)};
    return git_open(&f->repo, f->dir, NULL) || worktree_config_on(&f->repo, &switched, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = dirs_remove(f->dir, NULL);
    thread_done(&f->thread);
    git_close(&f->repo);
    free(f->dir);
    free(f);
    return rc;
}

static void install(struct fixture *f)
{
    struct err err = {0};
    if (thread_hooks_install(&f->repo, &f->thread, NULL, &err))
        fail_msg("%s", err.msg);
}

static void test_installs_once(void **state)
{
    struct fixture *f = *state;
    install(f);
    install(f);
    assert_says(f, "git -C tree config core.hooksPath | sed 's,.*/worktrees/,,'",
                "tree/anabranch.hooks\n");
    assert_says(f, "grep -c __own-hook tree/.claude/settings.local.json", "1\n");
    assert_says(f, "git -C tree status --porcelain", "");
}

static void test_own_hook_still_runs(void **state)
{
    struct fixture *f = *state;
    free(sh(f, "git -C tree config --worktree core.hooksPath \"$PWD/mine\" && mkdir mine && "
               "printf '#!/bin/sh\\ntouch ../called\\n' >mine/post-commit && "
               "chmod +x mine/post-commit"));
    install(f);
    install(f);
    free(sh(f, "git -C tree commit -q --allow-empty --no-verify -m x && rm called"));
}

static void test_settings_stay(void **state)
{
    static const char odd[] = "{\"hooks\" :  {\"PreToolUse\":[]},\n\t\"x\": 1}";
    struct fixture *f = *state;
    autofree char *write = mem_printf(
        "mkdir tree/.claude && printf '%%s' '%s' >tree/.claude/settings.local.json", odd);
    free(sh(f, write));
    install(f);
    install(f);
    assert_says(f, "grep -c __own-hook tree/.claude/settings.local.json", "1\n");
    assert_says(f, "grep -c '\"x\": 1' tree/.claude/settings.local.json", "1\n");
}

static void test_bad_settings_are_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    free(sh(f, "mkdir tree/.claude && echo '{]' >tree/.claude/settings.local.json"));
    assert_int_equal(thread_hooks_install(&f->repo, &f->thread, NULL, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_says(f, "cat tree/.claude/settings.local.json", "{]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_installs_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_hook_still_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_settings_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
