#include "sys/fs/path_target.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/anabranch-target-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 && mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return chdir("/") || dirs_remove(folder, NULL);
}

static void assert_leads(const char *path, const char *to)
{
    autofree char *from = mem_printf("%s/%s", folder, path), *want = mem_printf("%s%s", folder, to);
    autofree char *got = path_target(from);
    assert_string_equal(got, want);
}

static void test_plain(void **state)
{
    (void)state;
    assert_leads("a/x", "/a/x");
    assert_leads("a//./x/", "/a/x");
    assert_leads("a/../b/x", "/b/x");
    assert_leads("none/deep/../x", "/none/x");
    assert_leads("", "");
    autofree char *top = path_target("/../.");
    assert_string_equal(top, "/");
}

static void test_links(void **state)
{
    (void)state;
    autofree char *absolute = mem_printf("%s/a", folder);
    assert_int_equal(symlink("../b", "a/rel"), 0);
    assert_int_equal(symlink(absolute, "b/abs"), 0);
    assert_int_equal(symlink("../b/none", "a/dangling"), 0);
    assert_leads("a/rel/x", "/b/x");
    assert_leads("a/rel/../x", "/x"); /* as the kernel goes: out of b */
    assert_leads("b/abs/rel/abs/x", "/a/x");
    assert_leads("a/dangling", "/b/none");
}

static void test_circle(void **state)
{
    (void)state;
    assert_int_equal(symlink("loop", "a/loop"), 0);
    autofree char *path = mem_printf("%s/a/loop/x", folder);
    assert_null(path_target(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_circle),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
