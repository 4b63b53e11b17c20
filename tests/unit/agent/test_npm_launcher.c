#include "agent/engine/npm_launcher.h"

#include "base/mem.h"
#include "folder.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char SCRIPT[] = "@some/tool/bin/tool.js", NATIVE[] = "@some/tool-here/bin/tool";

/* A program below the folder. */
static char *put(const char *dir, const char *path)
{
    char *file = mem_printf("%s/%s", dir, path);
    autofree char *folder = mem_printf("%.*s", (int)(strrchr(file, '/') - file), file);
    assert_int_equal(dirs_make(folder, NULL), 0);
    assert_int_equal(file_create(file, "#!/bin/sh\n", 10, NULL), 0);
    assert_int_equal(chmod(file, 0755), 0);
    return file;
}

static void assert_native(const char *command, const char *expected)
{
    autofree char *found = launcher_native(command, SCRIPT, NATIVE);
    if (expected)
        assert_non_null(found);
    else
        assert_null(found);
    if (expected)
        assert_string_equal(found, expected);
}

static void test_beside_and_below(void **state)
{
    autofree char *dir = realpath(*state, NULL);
    autofree char *packages = mem_printf("%s/node_modules", dir);
    autofree char *script = put(packages, SCRIPT), *link = mem_printf("%s/tool", dir);
    assert_int_equal(symlink(script, link), 0);
    assert_native(link, NULL);
    autofree char *below = put(packages, "@some/tool/node_modules/@some/tool-here/bin/tool");
    assert_native(link, below);
    autofree char *beside = put(packages, NATIVE);
    assert_native(link, beside);
    assert_int_equal(chmod(beside, 0644), 0);
    assert_native(link, below);
}

static void test_other_programs(void **state)
{
    autofree char *dir = realpath(*state, NULL);
    autofree char *packages = mem_printf("%s/node_modules", dir);
    autofree char *other = put(dir, "tool.js"), *like = put(dir, "x@some/tool/bin/tool.js");
    autofree char *native = put(packages, NATIVE);
    assert_native(other, NULL);
    assert_native(like, NULL);
    assert_native(native, NULL);
    assert_native("no-such-program-anywhere", NULL);
}

static void test_machine(void **state)
{
    const struct launcher_machine *m = launcher_machine();
    (void)state;
    if (!m)
        skip();
    assert_true(strcmp(m->os, "linux") == 0 || strcmp(m->os, "darwin") == 0);
    assert_non_null(strstr(m->triple, m->os));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_beside_and_below, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_other_programs, make_folder, remove_folder),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
