#include "sys/contain/cgroup.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Few machines hand controllers down to everyone, so these tests have a folder with files of the
 * same names. */
static char dir[] = "/tmp/test_cgroup.XXXXXX";
static struct cgroup cg;

static void put(const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct err err = {0};
    (void)unlink(path);
    if (file_create(path, text, strlen(text), &err))
        fail_msg("%s", err.msg);
}

static void assert_has(const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf got = BUF_INIT;
    assert_int_equal(file_read(path, 1000, &got, NULL), 0);
    assert_string_equal(got.s, text);
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    cg = (struct cgroup){.dir = dir, .fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return cg.fd < 0 ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    own_close(&cg.fd);
    return dirs_remove(dir, NULL);
}

static void limits_are_written(void **state)
{
    (void)state;
    put("memory.max", "");
    put("memory.swap.max", "");
    put("memory.oom.group", "");
    put("pids.max", "");
    put("cpu.max", "");
    assert_true(cgroup_limit(&cg, 1 << 20, 64, 1.5));
    assert_has("memory.max", "1048576");
    assert_has("memory.swap.max", "0");
    assert_has("memory.oom.group", "1");
    assert_has("pids.max", "64");
    assert_has("cpu.max", "150000 100000");
}

static void what_is_not_handed_down_is_told(void **state)
{
    (void)state;
    put("memory.max", "");
    (void)unlinkat(cg.fd, "pids.max", 0);
    assert_true(cgroup_limit(&cg, 1 << 20, 0, 0));
    assert_false(cgroup_limit(&cg, 1 << 20, 64, 0));
    assert_has("memory.max", "1048576");
}

static void what_the_kernel_did_is_seen(void **state)
{
    (void)state;
    assert_false(cgroup_ran_out_of_memory(&cg));
    put("memory.events", "low 0\nhigh 3\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n");
    assert_false(cgroup_ran_out_of_memory(&cg));
    put("memory.events", "low 0\nhigh 3\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n");
    assert_true(cgroup_ran_out_of_memory(&cg));
    put("pids.events", "max 0\n");
    assert_false(cgroup_ran_out_of_processes(&cg));
    put("pids.events", "max 5\n");
    assert_true(cgroup_ran_out_of_processes(&cg));
}

/* A real one, where we may make one: those of a run are ended and removed, others are left. */
static void groups_of_a_run_are_swept(void **state)
{
    (void)state;
    autobuf struct buf place = BUF_INIT;
    struct cgroup mine = CGROUP_INIT, other = CGROUP_INIT;
    struct err err = {0};
    autofree char *run = mem_printf("test%d", (int)getpid());
    if (cgroup_place(&place, &err) || cgroup_make(&mine, place.s, run, 1, &err))
        skip();
    assert_int_equal(cgroup_make(&other, place.s, run, 11, &err), 0);
    cgroup_sweep(place.s, run, 1);
    assert_int_equal(access(mine.dir, F_OK), -1);
    assert_int_equal(access(other.dir, F_OK), 0);
    cgroup_sweep(place.s, run, 0);
    assert_int_equal(access(other.dir, F_OK), -1);
    cgroup_remove(&mine);
    cgroup_remove(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_written),
        cmocka_unit_test(what_is_not_handed_down_is_told),
        cmocka_unit_test(what_the_kernel_did_is_seen),
        cmocka_unit_test(groups_of_a_run_are_swept),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
