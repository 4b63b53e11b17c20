/* The things that a child in a fence can and cannot do. */
#include "sys/contain/fence.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/proc/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"
#include "sys/own_fd.h"

#ifdef __linux__
#include <sys/syscall.h>
static bool is_here(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1U) >= 2;
}
#else
static bool is_here(void)
{
    return false;
}
#endif

static int run_fenced(void **state, const struct fence *fence, const char *line)
{
    char *const argv[] = {"sh", "-c", (char *)line, NULL};
    autoclose int folder = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    int status = -1;
    struct err err = {0};
    if (proc_capture_in(&folder, fence, argv, NULL, 4096, &out, &errors, &status, &err))
        fail_msg("%s", err.msg);
    return status;
}

static void what_is_outside_stays(void **state)
{
    static const struct {
        const char *line;
        bool good;
    } cases[] = {
        {"touch in/new && mkdir in/folder && mv in/new in/folder/new && rm -r in/folder", true},
        {"cat out/file >in/copy && echo more >>out/file", true},
        {"rm out/file", false},
        {"rm away/file", false},
        {"rmdir out/folder", false},
        {"mv out/file in/file", false},
        {"touch out/new", false},
        {"mkdir away/new", false},
        {"ln -s x out/link", false},
    };
    if (!is_here())
        skip();
    free(shell(*state, "mkdir -p in out/folder && echo 1 >out/file && ln -s out away"));
    autofree char *path = mem_printf("%s/in", (char *)*state);
    autoclose int in = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct fence fence = {.folders = {in}, .n = 1};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if ((run_fenced(state, &fence, cases[i].line) == 0) != cases[i].good)
            fail_msg("it was %s: %s", cases[i].good ? "kept from it" : "let do it", cases[i].line);
    }
}

static void it_is_around_the_child_alone(void **state)
{
    autoclose int in = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct fence fence = {.folders = {in}, .n = 1};
    char other[] = "/tmp/anabranch-unit-XXXXXX";
    assert_int_equal(run_fenced(state, &fence, "true"), 0);
    assert_non_null(mkdtemp(other));
    assert_int_equal(rmdir(other), 0);
    assert_int_equal(run_fenced(state, NULL, "d=$(mktemp -d) && rmdir \"$d\""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_outside_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(it_is_around_the_child_alone, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
