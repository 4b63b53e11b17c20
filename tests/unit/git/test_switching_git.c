#include "git/checkout/switching_git.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The command lines of gits; a blank ends each argument. */
static const struct {
    const char *line;
    const char *to_main; /* the command, if it may check out main */
    const char *back;    /* the command, if it may write back an older state */
} cases[] = {
    {"", NULL, NULL},
    {"git", NULL, NULL},
    {"git -C", NULL, NULL},
    {"git switch main", "switch", "switch"},
    {"/usr/lib/git-core/git switch -q -", "switch", "switch"},
    {"/bin/bash /opt/bin/git switch main", "switch", "switch"},
    {"git -C switch -c user.name=checkout --no-pager log main", NULL, NULL},
    {"git -C repo --git-dir=/x/.git --work-tree /x checkout -q main --", "checkout", "checkout"},
    {"git checkout @{-1}", "checkout", "checkout"},
    {"git checkout -Bmain other", "checkout", "checkout"},
    {"git switch other", NULL, "switch"},
    {"git switch mainly", NULL, "switch"},
    {"git checkout -p main", NULL, NULL},
    {"git checkout main -- -p", "checkout", "checkout"},
    {"git reset --patch", NULL, NULL},
    {"git reset --hard main", NULL, "reset"},
    {"git stash push -q", NULL, "stash"},
    {"git rebase -i other main", "rebase", "rebase"},
    {"git merge main", NULL, "merge"},
    {"git worktree add ../main", "worktree", NULL},
    {"git commit -m main", NULL, NULL},
    {"git log main", NULL, NULL},
    {"sh -c git", NULL, NULL},
};

static void assert_command(const char *found, const char *expected, const char *line)
{
    const char *a = found ? found : "none", *b = expected ? expected : "none";
    if (strcmp(a, b) != 0)
        fail_msg("'%s' is '%s', expected '%s'", line, a, b);
}

static void the_arguments_tell_the_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf struct buf arguments = BUF_INIT;
        size_t len = strlen(cases[i].line);
        buf_add(&arguments, cases[i].line, len ? len + 1 : 0);
        for (size_t k = 0; k < len; k++)
            arguments.s[k] = (char)(arguments.s[k] == ' ' ? '\0' : arguments.s[k]);
        assert_command(switching_git_to(&arguments, "main"), cases[i].to_main, cases[i].line);
        assert_command(switching_git_back(&arguments), cases[i].back, cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_arguments_tell_the_command)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
