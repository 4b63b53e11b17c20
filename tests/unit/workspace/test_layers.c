#include "workspace/overlay/layers.h"

#include "base/mem.h"
#include "sys/contain/overlayfs.h"

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

/* Two workspaces that a run has left which is dead: a and b, each with a file of its own. */
static int make_workspaces(void **state)
{
    if (make_folder(state))
        return -1;
    free(shell(*state, "git init -q . && echo 1 >same && git add . && git commit -q -m 1 && "
                       "for name in a b; do mkdir -p run/$name run/.$name.layers/upper && "
                       "echo $name >run/.$name.layers/upper/own && "
                       "printf %s $(git rev-parse HEAD) >run/.$name.layers/commit; done"));
    return 0;
}

static int take(void **state, const char *name, struct base_tree *below, struct layers_hold *ret,
                struct err *err)
{
    autofree char *path = mem_printf("%s/run/%s", (const char *)*state, name);
    autofree char *common = mem_printf("%s/.git", (const char *)*state);
    return layers_take(path, common, below, ret, err);
}

static void leave(void **state, const char *name, struct layers_hold *hold)
{
    autofree char *path = mem_printf("%s/run/%s", (const char *)*state, name);
    assert_int_equal(overlay_unmount(path, NULL), 0);
    layers_hold_done(hold);
}

static void needs_overlays(void **state)
{
    struct err err = {0};
    if (overlay_probe(*state, &err))
        skip();
}

static void what_is_below_several_is_looked_at_once(void **state)
{
    needs_overlays(state);
    autobase_tree struct base_tree below = BASE_TREE_INIT, other = BASE_TREE_INIT;
    struct layers_hold a, b, c;
    struct err err = {0};
    assert_int_equal(take(state, "a", &below, &a, &err), 0);
    free(shell(*state, "rm .git/anabranch/pristine/*/index")); /* by which it is looked at */
    assert_int_equal(take(state, "b", &below, &b, &err), 0);
    autofree char *seen = shell(*state, "cat run/a/same run/a/own run/b/same run/b/own");
    assert_string_equal(seen, "1\na\n1\nb\n");
    leave(state, "b", &b);
    assert_int_equal(take(state, "b", &other, &c, &err), -1);
    leave(state, "a", &a);
}

/* As long as one of them is held nobody has the tree for himself. */
static void each_holds_what_is_below(void **state)
{
    needs_overlays(state);
    struct base_tree below = BASE_TREE_INIT;
    struct layers_hold a, b;
    struct err err = {0};
    int fd = -1;
    assert_int_equal(take(state, "a", &below, &a, &err), 0);
    assert_int_equal(take(state, "b", &below, &b, &err), 0);
    autofree char *lock = mem_printf("%s/lock", below.dir);
    base_tree_done(&below);
    leave(state, "a", &a);
    assert_int_equal(dirs_try_lock(lock, &fd, &err), 0);
    assert_int_equal(fd, -1);
    leave(state, "b", &b);
    assert_int_equal(dirs_try_lock(lock, &fd, &err), 0);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_workspaces, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(what_is_below_several_is_looked_at_once),
        TEST(each_holds_what_is_below),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
