/* Folders that somebody has replaced by symlinks. */
#include "sys/fs/beneath.h"

#include "base/mem.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"
#include "sys/own_fd.h"

static void run(void **state, const char *line)
{
    free(shell(*state, line));
}

static bool is_there(void **state, const char *name)
{
    autofree char *path = mem_printf("%s/%s", (char *)*state, name);
    struct stat st;
    return lstat(path, &st) == 0;
}

static void no_symlink_is_followed(void **state)
{
    static const struct {
        const char *path;
        bool good;
    } cases[] = {{"a/b/file", true},   {"a/b", true},       {"", true},      {"away/file", false},
                 {"a/up/file", false}, {"a/link", false},   {"../x", false}, {"/etc", false},
                 {"a/b/none", false},  {"to/b/file", false}};
    run(state, "mkdir -p a/b out && echo 1 >a/b/file && echo 1 >out/file && ln -s ../out a/up && "
               "ln -s b/file a/link && ln -s \"$PWD/out\" away && ln -s a to");
    autoclose int root = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoclose int fd = beneath_open(root, cases[i].path, O_RDONLY, 0);
        if ((fd >= 0) != cases[i].good)
            fail_msg("'%s' was %s", cases[i].path, fd >= 0 ? "opened" : "refused");
    }
    autofree char *good = mem_printf("%s/a/b", (char *)*state);
    autofree char *bad = mem_printf("%s/to/b", (char *)*state);
    struct err err = {0};
    autoclose int one = -1, two = -1;
    assert_int_equal(beneath_folder(good, &one, &err), 0);
    assert_int_equal(beneath_folder(bad, &two, &err), -1);
    assert_non_null(strstr(err.msg, "symlink"));
}

static void what_a_path_leads_to_is_known_by_its_inode(void **state)
{
    run(state, "mkdir one two && ln -s one three");
    autoclose int root = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int fd = beneath_at(root, "one");
    struct file_id id;
    assert_int_equal(file_id_of(fd, &id), 0);
    assert_true(file_id_is_at(&id, root, "one"));
    assert_false(file_id_is_at(&id, root, "two"));
    assert_false(file_id_is_at(&id, root, "three"));
    assert_false(file_id_is_at(&id, root, "none"));
}

static void a_path_is_made_real_as_far_as_it_is_there(void **state)
{
    run(state, "mkdir a && ln -s a to");
    autofree char *path = mem_printf("%s/to/new/er", (char *)*state);
    autofree char *wanted = mem_printf("%s/a/new/er", (char *)*state);
    autofree char *real = beneath_real(path), *root = beneath_real("/none/such");
    assert_string_equal(real, wanted);
    assert_string_equal(root, "/none/such");
}

/* Removal */

static int remove_at(void **state, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", (char *)*state, name);
    return dirs_remove(path, err);
}

static void what_symlinks_lead_to_stays(void **state)
{
    struct err err = {0};
    run(state, "mkdir -p out/x t/a/b && echo 1 >out/x/file && ln -s ../out t/out && "
               "ln -s \"$PWD/out\" t/a/b/out && ln -s out link");
    assert_int_equal(remove_at(state, "t", &err), 0);
    assert_int_equal(remove_at(state, "link/x", &err), -1);
    assert_true(is_there(state, "out/x/file"));
    assert_int_equal(remove_at(state, "link", &err), 0);
    assert_false(is_there(state, "link"));
    assert_false(is_there(state, "t"));
    assert_int_equal(remove_at(state, "none/such", &err), 0);
}

static void all_kinds_of_folders_go(void **state)
{
    struct err err = {0};
    run(state, "mkdir -p t/ro/in t/none/in && echo 1 >t/ro/in/f && mkfifo t/pipe && "
               "chmod 500 t/ro/in t/ro && chmod 0 t/none && cd t && "
               "for i in $(seq 300); do mkdir \"d$i\" && cd \"d$i\" && echo 1 >f; done");
    if (remove_at(state, "t", &err))
        fail_msg("%s", err.msg);
    assert_false(is_there(state, "t"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_symlink_is_followed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_a_path_leads_to_is_known_by_its_inode, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_path_is_made_real_as_far_as_it_is_there, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_symlinks_lead_to_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(all_kinds_of_folders_go, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
