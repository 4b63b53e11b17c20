#include "git/checkout/untracked.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

static void run_line(const char *dir, const char *line)
{
    free(shell(dir, line));
}

static void open_it(struct untracked *u, const char *dir)
{
    autofree char *index = mem_printf("%s/.git/index", dir);
    autostrv struct strv skipped = {0};
    strv_push(&skipped, "ours/");
    assert_int_equal(untracked_open(u, dir, index, 40, &skipped, NULL), 0);
}

/* The order of paths is the index's, in which "a-b" comes before "a/b", and "a.c" between. */
static void dir_names_of_every_order_are_told_apart(void **state)
{
    struct untracked u;
    autobuf struct buf found = BUF_INIT;
    run_line(*state,
             "git init -q . && mkdir -p a a-b a.c/d a0 ours other/.git && "
             "for f in a/1 a-b/1 a.c/d/1 a0/1 b b.c 'b c'; do echo 1 >\"$f\"; done && git add . && "
             "for f in a/0 a/2 a-b/0 a-c a.c/0 a.c/d/2 a.d a0/0 b- b/ c ours/1 other/1 "
             "other/.git/1 z/y/x z/a 'z b'; do mkdir -p \"$(dirname \"$f\")\"; "
             "case $f in */) ;; *) echo 1 >\"$f\" ;; esac; done && rm b.c a/1");
    open_it(&u, *state);
    for (size_t i = 0; i < u.files.n; i++)
        buf_addf(&found, "%s\n", u.files.v[i].path);
    autofree char *expected =
        shell(*state, "LC_ALL=C; export LC_ALL; git ls-files --others | grep -v ^ours/ | sort; "
                      "[ -e other/1 ]");
    autofree char *mended = mem_printf("%s", expected);
    assert_non_null(strstr(found.s, "other/1\n"));
    assert_null(strstr(found.s, ".git"));
    for (char *next = mended, *line; (line = strsep(&next, "\n")) && *line;)
        assert_true(strcmp(line, "other/") == 0 || strstr(found.s, line));
    autofree char *number = shell(*state, "find . -type f | grep -v -e /.git/ -e ^./ours/ | wc -l");
    assert_int_equal(u.files.n, strtol(number, NULL, 10) - 5); /* tracked ones that are left */
    untracked_close(&u);
}

static void check_changes(struct untracked *u, const char *expected)
{
    autountracked struct untracked_changes changes = {0};
    autobuf struct buf out = BUF_INIT;
    assert_int_equal(untracked_look(u, &changes, NULL), 0);
    for (size_t i = 0; i < changes.list.n; i++) {
        const struct untracked_change *c = &changes.list.v[i];
        buf_addf(&out, "%c%s:%s ",
                 !c->was.path  ? '+'
                 : !c->is.path ? '-'
                               : '~',
                 c->was.path ? c->was.path : c->is.path, c->was.content ? c->was.content : "");
    }
    assert_string_equal(out.s, expected);
}

static void changes_are_found_with_what_was_there(void **state)
{
    struct untracked u;
    run_line(*state,
             "git init -q . && mkdir d && for f in a b c d/1 d/2; do printf $f >$f; done && "
             "git add a; sleep 0.1"); /* the clock of files is coarse */
    open_it(&u, *state);
    check_changes(&u, "");
    run_line(*state, "printf new >b && rm d/1 && touch c && printf 1 >e && chmod 600 d/2");
    check_changes(&u, "~b:b -d/1:d/1 ~d/2:d/2 +e: ");
    check_changes(&u, "");
    /* If git starts or stops tracking a file, it is neither made nor deleted. */
    run_line(*state, "sleep 0.1; git add b c && git rm -q --cached a");
    check_changes(&u, "");
    run_line(*state, "printf more >>a && rm -r d && mkdir d && printf f >d/1");
    check_changes(&u, "~a: +d/1: -d/2:d/2 ");
    untracked_close(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dir_names_of_every_order_are_told_apart, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(changes_are_found_with_what_was_there, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
