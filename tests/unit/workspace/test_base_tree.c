#include "workspace/overlay/base_tree.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"

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

static int make_repository(void **state)
{
    if (make_folder(state))
        return -1;
    free(shell(*state, "git init -q . && mkdir d && echo 1 >a && echo 2 >d/b && ln -s a l && "
                       "git add . && git commit -q -m 1 && echo 3 >d/b && echo 4 >c && rm a && "
                       "git add -A && git commit -q -m 2"));
    return 0;
}

static char *commit_of(void **state, const char *name)
{
    autofree char *line = mem_printf("git rev-parse %s", name);
    char *id = shell(*state, line);
    id[strcspn(id, "\n")] = '\0';
    return id;
}

static char *state_dir(void **state)
{
    return mem_printf("%s/.git/anabranch", (const char *)*state);
}

static int make(void **state, const char *name, struct base_tree *p, struct err *err)
{
    autofree char *git = mem_printf("%s/.git", (const char *)*state), *own = state_dir(state);
    autofree char *commit = commit_of(state, name);
    struct git_place at = {.git_dir = git};
    return base_tree_make(p, &at, own, commit, err);
}

/* The names in its tree, and how many of its kind there are. */
static char *look(void **state, const struct base_tree *p)
{
    autofree char *line =
        mem_printf("cd '%s/tree' && find . -type f -o -type l | sort | tr '\\n' ' ' && "
                   "cat d/b && ls -A '%s/..' | wc -l && ls -A '%s/../../tmp'",
                   p->dir, p->dir, p->dir);
    return shell(*state, line);
}

static void it_has_the_files(void **state)
{
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    assert_int_equal(make(state, "HEAD", &p, &err), 0);
    autofree char *seen = look(state, &p);
    assert_string_equal(seen, "./c ./d/b ./l 3\n1\n");
}

static ino_t inode_of(const struct base_tree *p)
{
    autofree char *tree = base_tree_tree(p);
    struct stat st;
    assert_int_equal(stat(tree, &st), 0);
    return st.st_ino;
}

static void one_that_nobody_uses_is_brought_forward(void **state)
{
    struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    assert_int_equal(make(state, "HEAD^", &p, &err), 0);
    ino_t first = inode_of(&p);
    base_tree_done(&p);
    assert_int_equal(make(state, "HEAD", &p, &err), 0);
    assert_int_equal(inode_of(&p), first);
    autofree char *seen = look(state, &p);
    assert_string_equal(seen, "./c ./d/b ./l 3\n1\n");
    base_tree_done(&p);
    assert_int_equal(make(state, "HEAD", &p, &err), 0);
    assert_int_equal(inode_of(&p), first);
    base_tree_done(&p);
}

static void one_in_use_stays(void **state)
{
    autobase_tree struct base_tree old = BASE_TREE_INIT, new = BASE_TREE_INIT;
    struct err err = {0};
    assert_int_equal(make(state, "HEAD^", &old, &err), 0);
    assert_int_equal(make(state, "HEAD", &new, &err), 0);
    autofree char *seen = look(state, &old), *newer = look(state, &new);
    assert_string_equal(seen, "./a ./d/b ./l 2\n2\n");
    assert_string_equal(newer, "./c ./d/b ./l 3\n2\n");
}

/* After any damage, the tree that we use is the one that git writes. */
static void one_that_was_changed_is_not_used(void **state)
{
    static const char *const damages[] = {"echo x >d/b", "rm c",    "echo new >new",
                                          "chmod +x c",  "rm -r d", "touch d/b"};
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        struct base_tree p = BASE_TREE_INIT;
        struct err err = {0};
        assert_int_equal(make(state, "HEAD", &p, &err), 0);
        autofree char *line = mem_printf("cd '%s/tree' && %s", p.dir, damages[i]);
        free(shell(*state, line));
        base_tree_done(&p);
        assert_int_equal(make(state, "HEAD", &p, &err), 0);
        autofree char *seen = look(state, &p);
        assert_string_equal(seen, "./c ./d/b ./l 3\n1\n");
        base_tree_done(&p);
    }
}

static void half_made_ones_go(void **state)
{
    autofree char *commit = commit_of(state, "HEAD");
    autofree char *line = mem_printf("mkdir -p .git/anabranch/pristine/%s.1.new/tree "
                                     ".git/anabranch/pristine/empty.2.new",
                                     commit);
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    free(shell(*state, line));
    assert_int_equal(make(state, "HEAD", &p, &err), 0);
    autofree char *seen = look(state, &p);
    assert_string_equal(seen, "./c ./d/b ./l 3\n1\n");
}

static void submodules_are_not_shared(void **state)
{
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    free(shell(*state, "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && "
                       "git commit -qm sub"));
    assert_int_equal(make(state, "HEAD", &p, &err), -1);
    assert_non_null(strstr(err.msg, "more than files"));
}

static void settings_of_the_user_do_not_count(void **state)
{
    autobase_tree struct base_tree p = BASE_TREE_INIT;
    struct err err = {0};
    free(shell(*state, "git config core.splitIndex true && git config core.untrackedCache true && "
                       "git config index.version 4 && git sparse-checkout set --no-cone /c"));
    assert_int_equal(make(state, "HEAD", &p, &err), 0);
    autofree char *seen = look(state, &p);
    assert_string_equal(seen, "./c ./d/b ./l 3\n1\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_repository, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(it_has_the_files),
        TEST(one_that_nobody_uses_is_brought_forward),
        TEST(one_in_use_stays),
        TEST(one_that_was_changed_is_not_used),
        TEST(half_made_ones_go),
        TEST(submodules_are_not_shared),
        TEST(settings_of_the_user_do_not_count),
    };
    return cmocka_run_group_tests_name("base_tree", tests, NULL, NULL);
}
