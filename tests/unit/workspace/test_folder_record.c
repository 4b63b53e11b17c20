#include "workspace/folder_record.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "sys/fs/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

#define RUN "20260301-120000-12ab"

/* A repository's folder with the record of a run, and the folder of the run's workspaces. */
static int make_run(void **state)
{
    if (make_folder(state))
        return -1;
    autofree char *common = state_path(*state), *dir = run_path(common, RUN);
    autofree char *work = mem_printf("%s/work/" RUN, (const char *)*state);
    return folder_record_begin(dir, NULL) || dirs_make(work, NULL);
}

static char *task_path(void **state)
{
    return mem_printf("%s/work/" RUN "/t", (const char *)*state);
}

static void write_record(void **state, const char *text)
{
    autofree char *common = state_path(*state);
    autofree char *path = run_file_path(common, RUN, RUN_FOLDERS "/t");
    (void)unlink(path);
    assert_int_equal(file_create(path, text, strlen(text), NULL), 0);
}

static void what_is_forgotten_is_of_others(void **state)
{
    autofree char *common = state_path(*state), *dir = run_path(common, RUN);
    autofree char *path = task_path(state);
    struct file_id id;
    write_record(state, "tree 1 2 3 boot\n");
    assert_int_equal(folder_record_last(*state, path, RECORD_TREE, &id), FOLDER_OURS);
    folder_record_forget(dir, "t");
    folder_record_forget(dir, "none");
    assert_true(folder_record_is_whole(*state, path));
    assert_int_equal(folder_record_last(*state, path, RECORD_TREE, &id), FOLDER_FOREIGN);
}

static void only_whole_lines_of_the_record_count(void **state)
{
    static const struct {
        const char *text;
        uintmax_t dev, ino; /* 0: none */
    } cases[] = {
        {"tree 1 2 3 boot\n", 1, 2},
        {"tree 1 2 -3 boot\n", 1, 2},
        {"tree 1 2 0 -\n", 1, 2},
        {"tree 18446744073709551615 18446744073709551615 3 boot\n", UINTMAX_MAX, UINTMAX_MAX},
        {"tree 1 2 3 boot\ntree 4 5 6 boot\n", 4, 5},
        {"tree 1 2 3 boot\nadmin 4 5 6 boot\ntree 7\n", 1, 2},
        {"", 0, 0},
        {"\n \n", 0, 0},
        {"tree", 0, 0},
        {"tree 1 2 3\n", 0, 0},
        {"tree 1 2 3 ", 0, 0},
        {"tree 1 2\n", 0, 0},
        {"tree 1 x 3 boot\n", 0, 0},
        {"tree 1 2tree 4 5 6 boot\n", 0, 0},
        {"trees 1 2 3 boot\n", 0, 0},
        {"a-word-that-is-longer-than-a-kind 1 2 3 boot\ntree 1 2 3 boot\n", 1, 2},
    };
    autofree char *path = task_path(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct file_id id = {0};
        write_record(state, cases[i].text);
        enum folder_owner owner = folder_record_last(*state, path, RECORD_TREE, &id);
        if (owner != (cases[i].dev ? FOLDER_OURS : FOLDER_FOREIGN) ||
            id.dev != (dev_t)cases[i].dev || id.ino != (ino_t)cases[i].ino)
            fail_msg("%s: %d, %ju %ju", cases[i].text, owner, (uintmax_t)id.dev, (uintmax_t)id.ino);
    }
}

static void a_recorded_folder_is_ours_until_another_takes_its_name(void **state)
{
    autofree char *path = task_path(state), *aside = mem_printf("%s.aside", path);
    struct file_id id = {0}, last = {0};
    struct stat st;
    assert_int_equal(folder_record_make(*state, path, RECORD_TREE, 0700, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    autofree char *work = mem_printf("%s/work/" RUN, (const char *)*state);
    int folder = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    assert_int_equal(folder_record_owner(*state, path, folder, &id), FOLDER_OURS);
    assert_int_equal(id.ino, st.st_ino);
    assert_int_equal(folder_record_last(*state, path, RECORD_TREE, &last), FOLDER_OURS);
    assert_int_equal(last.ino, st.st_ino);
    assert_int_equal(last.dev, st.st_dev);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(folder_record_owner(*state, path, folder, &id), FOLDER_FOREIGN);
    (void)close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_whole_lines_of_the_record_count, make_run,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_of_others, make_run, remove_folder),
        cmocka_unit_test_setup_teardown(a_recorded_folder_is_ours_until_another_takes_its_name,
                                        make_run, remove_folder),
    };
    return cmocka_run_group_tests_name("folder_record", tests, NULL, NULL);
}
