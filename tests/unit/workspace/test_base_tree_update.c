#include "workspace/overlay/base_tree_update.h"

#include "base/mem.h"
#include "git/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

/* A first commit; `more` makes the second. */
static void make_repository(void **state, const char *more)
{
    autofree char *line = mem_printf(
        "git init -q . && git config core.autocrlf false && mkdir -p d/e other && echo 1 >a && "
        "echo 2 >d/b && echo 3 >d/e/c && echo 4 >other/f && ln -s a l && echo x >x && "
        "git add . && git commit -q -m 1 && %s && git add -A && git commit -q -m 2",
        more);
    free(shell(*state, line));
}

static char *commit_of(void **state, const char *name)
{
    autofree char *line = mem_printf("git rev-parse %s", name);
    char *id = shell(*state, line);
    id[strcspn(id, "\n")] = '\0';
    return id;
}

static char *made_of_first(void **state)
{
    autofree char *git = mem_printf("%s/.git", (const char *)*state);
    autofree char *own = mem_printf("%s/anabranch", git), *first = commit_of(state, "HEAD^");
    struct git_place at = {.git_dir = git};
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    assert_int_equal(base_tree_make(&p, &at, own, first, &err), 0);
    return steal_ptr(own);
}

/* Checks with git: the work tree is clean, the index equals the commit, and all cached trees of
 * folders are right. */
static void check(void **state, const char *dir)
{
    autofree char *line = mem_printf(
        "set -e; export GIT_INDEX_FILE='%s/index' GIT_WORK_TREE='%s/tree' GIT_DIR=.git; "
        "git diff-files; git diff-index --cached HEAD; git ls-files --others; git write-tree; "
        "git rev-parse 'HEAD^{tree}'; git ls-files -s >seen; unset GIT_INDEX_FILE; "
        "GIT_INDEX_FILE=.git/other git read-tree HEAD; "
        "GIT_INDEX_FILE=.git/other git ls-files -s | diff - seen",
        dir, dir);
    autofree char *out = shell(*state, line);
    assert_int_equal(strlen(out), 82); /* the tree, twice */
    assert_memory_equal(out, out + 41, 41);
}

static bool go_forward(void **state, const char *own)
{
    autofree char *git = mem_printf("%s/.git", (const char *)*state);
    autofree char *second = commit_of(state, "HEAD");
    autostrv struct strv left = {0};
    autodraft struct base_tree_draft d = BASE_TREE_DRAFT_INIT;
    struct err err = {0};
    assert_int_equal(base_tree_begin(&d, own, second, false, &left, &err), 0);
    assert_non_null(d.from);
    struct git_batch *batch = git_batch_new(git);
    bool done = base_tree_update(&d, batch);
    git_batch_free(batch);
    autofree char *line = mem_printf("GIT_DIR=.git GIT_INDEX_FILE='%s/index' "
                                     "GIT_WORK_TREE='%s/tree' git read-tree -m -u %s %s",
                                     d.dir, d.dir, d.from, d.commit);
    if (done)
        check(state, d.dir);
    else
        free(shell(*state, line)); /* git finds it as it was, or would refuse */
    return done;
}

static void files_come_change_and_go(void **state)
{
    make_repository(state, "rm a && echo 5 >d/b && echo new >d/e/new && echo new >d/aa && "
                           "ln -sf other l && chmod +x x && : >other/empty");
    autofree char *own = made_of_first(state);
    assert_true(go_forward(state, own));
}

static void a_file_may_become_a_symlink(void **state)
{
    make_repository(state, "rm l x && echo file >l && ln -s a x");
    autofree char *own = made_of_first(state);
    assert_true(go_forward(state, own));
}

static void what_is_more_is_left_to_git_untouched(void **state)
{
    static const char *const changes[] = {
        "mkdir new && echo 1 >new/f",                      /* a folder comes, */
        "rm -r other",                                     /* or goes */
        "rm -r other && echo 1 >other",                    /* or becomes a file */
        "echo '* -text' >d/.gitattributes",                /* git has to be asked */
        "seq -f other/%g 2001 | xargs touch",              /* too many */
        "head -c 9000000 /dev/zero >other/f && echo 2 >a", /* too large */
        "git init -q sub && git -C sub commit -q --allow-empty -m 1",
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        make_repository(state, changes[i]);
        autofree char *own = made_of_first(state);
        assert_false(go_forward(state, own));
        free(shell(*state, "rm -rf .git * .gitattributes"));
    }
}

static void attributes_of_the_whole_are_for_git(void **state)
{
    make_repository(state, "echo 2 >a");
    free(shell(*state, "git reset -q --hard HEAD^ && echo '*.c text' >.gitattributes && "
                       "git add . && git commit -q -m 1 && echo 2 >a && git commit -q -a -m 2"));
    autofree char *own = made_of_first(state);
    assert_false(go_forward(state, own));
}

/* Makes the first commit's tree, and the second's as a delta over it. */
static void make_delta(void **state, const char *git, const char *own, struct base_tree *first)
{
    autofree char *from = commit_of(state, "HEAD^"), *to = commit_of(state, "HEAD");
    struct git_place at = {.git_dir = git};
    autostrv struct strv left = {0};
    autodraft struct base_tree_draft d = BASE_TREE_DRAFT_INIT;
    struct err err = {0};
    assert_int_equal(base_tree_make(first, &at, own, from, &err), 0);
    assert_true(base_tree_begin_delta(&d, own, to));
    assert_string_equal(d.from, from);
    struct git_batch *batch = git_batch_new(git);
    assert_true(base_tree_update(&d, batch));
    git_batch_free(batch);
    bool ours = false;
    assert_int_equal(base_tree_finish(&d, &ours, &left, &err), 0);
    assert_true(ours);
    assert_int_equal(left.n, 0);
}

static bool can_be_taken(void **state, const char *git, const char *own)
{
    autofree char *to = commit_of(state, "HEAD");
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct git_place at = {.git_dir = git};
    struct err err = {0};
    bool there = false;
    assert_int_equal(base_tree_take(&p, &at, own, to, false, &there, &err), 0);
    autofree char *below = there ? base_tree_tree_below(&p) : NULL;
    assert_int_equal(there, below != NULL);
    return there;
}

/* It, and what it goes over. */
static void a_delta_that_was_changed_is_not_used(void **state)
{
    static const char *const damages[] = {
        ":",
        "echo x >\"$to/tree/d/b\"",
        "touch \"$to/tree/d/b\"",
        "rm \"$to/tree/d/e/new\"",
        "rm \"$to/tree/a\"",
        "rm \"$to/tree/a\"; echo 1 >\"$to/tree/a\"",
        "echo 1 >\"$to/tree/more\"",
        "echo 1 >\"$from/tree/more\"",
        "echo 1 >\"$from/tree/x\"",
        "rm \"$from/tree/other/f\"",
        "rm -r \"$from\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        make_repository(state, "rm a && echo 5 >d/b && echo new >d/e/new");
        autofree char *git = mem_printf("%s/.git", (const char *)*state);
        autofree char *own = mem_printf("%s/anabranch", git);
        autobase_tree struct base_tree first = BASE_TREE_INIT;
        make_delta(state, git, own, &first);
        assert_true(can_be_taken(state, git, own));
        autofree char *line = mem_printf("from=%s/pristine/$(git rev-parse HEAD^) "
                                         "to=%s/pristine/$(git rev-parse HEAD); %s",
                                         own, own, damages[i]);
        free(shell(*state, line));
        assert_int_equal(can_be_taken(state, git, own), i == 0);
        free(shell(*state, "rm -rf .git *"));
    }
}

/* Those who use it use what it goes over; when nobody does both may go. */
static void a_delta_holds_what_it_goes_over(void **state)
{
    make_repository(state, "echo 5 >d/b");
    autofree char *git = mem_printf("%s/.git", (const char *)*state);
    autofree char *own = mem_printf("%s/anabranch", git), *to = commit_of(state, "HEAD");
    struct base_tree first = BASE_TREE_INIT;
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct git_place at = {.git_dir = git};
    struct err err = {0};
    bool there;
    make_delta(state, git, own, &first);
    assert_int_equal(base_tree_take(&p, &at, own, to, false, &there, &err), 0);
    assert_true(there);
    base_tree_done(&first);
    autostrv struct strv left = {0};
    struct base_tree_draft d = BASE_TREE_DRAFT_INIT;
    assert_int_equal(base_tree_begin(&d, own, "0", false, &left, &err), 0);
    assert_null(d.from);
    assert_int_equal(left.n, 0);
    base_tree_draft_done(&d);
    base_tree_done(&p);
    assert_int_equal(base_tree_begin(&d, own, "0", false, &left, &err), 0);
    assert_non_null(d.from);
    assert_int_equal(left.n, 1);
    base_tree_draft_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_come_change_and_go, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_may_become_a_symlink, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_more_is_left_to_git_untouched, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(attributes_of_the_whole_are_for_git, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_delta_that_was_changed_is_not_used, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_delta_holds_what_it_goes_over, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
