#include "store/store.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "openers.h"

static bool take_names(void *ctx, const struct store_event *ev)
{
    char *names = ctx;
    strcat(names, ev->name);
    strcat(names, ev->data ? ev->data : "-");
    return strcmp(ev->name, "last") != 0;
}

static void events_come_back_in_order(void **state)
{
    autostore struct store *store = NULL;
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    const char *const names[] = {"a", "b", "last", "never"};
    int64_t before = 0;
    for (size_t i = 0; i < 4; i++) {
        struct store_event ev = {.time = 5, .name = names[i], .run = "r"};
        ev.data = i == 1 ? "{}" : NULL;
        assert_int_equal(store_add_event(store, &ev, NULL), 0);
        assert_true(ev.seq > before);
        before = ev.seq;
    }
    struct store_event other = {.name = "other", .run = "q"};
    assert_int_equal(store_add_event(store, &other, NULL), 0);
    char seen[100] = "";
    assert_int_equal(store_each_event(store, "r", 0, take_names, seen, NULL), 0);
    assert_string_equal(seen, "a-b{}last-");
    seen[0] = '\0';
    assert_int_equal(store_each_event(store, "r", 2, take_names, seen, NULL), 0);
    assert_string_equal(seen, "last-");
}

static bool take_lines(void *ctx, const char *lines)
{
    char *seen = ctx;
    strcat(seen, lines);
    strcat(seen, "|");
    return strcmp(lines, "last\n") != 0;
}

static void add_lines(struct store *store, const char *run, const char *lines)
{
    assert_int_equal(store_add_engine_events(store, run, lines, NULL), 0);
}

static void events_of_the_engine_come_back_in_order(void **state)
{
    autostore struct store *store = NULL;
    char seen[100] = "";
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    add_lines(store, "r", "begin\none\n");
    add_lines(store, "other", "not this\n");
    add_lines(store, "r", "two\n");
    add_lines(store, "r", "last\n");
    add_lines(store, "r", "never\n");
    assert_int_equal(store_each_engine_events(store, "r", take_lines, seen, NULL), 0);
    assert_string_equal(seen, "begin\none\n|two\n|last\n|");
    seen[0] = '\0';
    assert_int_equal(store_each_engine_events(store, "none", take_lines, seen, NULL), 0);
    assert_string_equal(seen, "");
}

/* Together or not at all, like other groups; afterwards single writes and groups work as ever. */
static void a_group_need_not_be_on_disk(void **state)
{
    autostore struct store *store = NULL;
    struct store_event ev = {.name = "last", .run = "r"};
    char seen[100] = "";
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_begin_soon(store, NULL), 0);
    assert_true(store_in_group(store));
    add_lines(store, "r", "one\n");
    assert_int_equal(store_commit(store, NULL), 0);
    assert_false(store_in_group(store));
    assert_int_equal(store_begin_soon(store, NULL), 0);
    add_lines(store, "r", "two\n");
    store_close(steal_ptr(store));
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_each_engine_events(store, "r", take_lines, seen, NULL), 0);
    assert_string_equal(seen, "one\n|");
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(store_commit(store, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
}

static bool take_task(void *ctx, const struct store_task *t)
{
    char *seen = ctx;
    strcat(seen, t->id);
    strcat(seen, t->state);
    assert_null(t->failure);
    assert_int_equal(t->attempts, 2);
    assert_true(t->usd < 0);
    return true;
}

static void rows_are_replaced_by_key(void **state)
{
    autostore struct store *store = NULL;
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    struct store_task t = {.run = "r", .id = "x", .state = "running", .place = 1, .usd = -1};
    t.attempts = 2;
    assert_int_equal(store_put_task(store, &t, NULL), 0);
    t.state = "landed";
    assert_int_equal(store_put_task(store, &t, NULL), 0);
    t.id = "first";
    t.place = 0;
    assert_int_equal(store_put_task(store, &t, NULL), 0);
    char seen[100] = "";
    assert_int_equal(store_each_task(store, "r", take_task, seen, NULL), 0);
    assert_string_equal(seen, "firstlandedxlanded");
    assert_int_equal(store_drop_task(store, "r", "first", NULL), 0);
    assert_int_equal(store_drop_task(store, "other", "x", NULL), 0);
    seen[0] = '\0';
    assert_int_equal(store_each_task(store, "r", take_task, seen, NULL), 0);
    assert_string_equal(seen, "xlanded");
}

static void one_row_is_found_by_its_id(void **state)
{
    autostore struct store *store = NULL;
    struct arena a = {0};
    struct store_run run = {.id = "old", .state = "done", .started = 1};
    struct store_task task = {.run = "old", .id = "x", .state = "landed", .attempts = 3};
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_find_run(store, NULL, &a, &run, NULL), 0);
    assert_null(run.id);
    run = (struct store_run){.id = "old", .state = "done", .started = 1};
    assert_int_equal(store_put_run(store, &run, NULL), 0);
    run = (struct store_run){.id = "new", .state = "running", .started = 2};
    assert_int_equal(store_put_run(store, &run, NULL), 0);
    assert_int_equal(store_put_task(store, &task, NULL), 0);
    assert_int_equal(store_find_run(store, NULL, &a, &run, NULL), 0);
    assert_string_equal(run.id, "new");
    assert_int_equal(store_find_run(store, "old", &a, &run, NULL), 0);
    assert_string_equal(run.state, "done");
    assert_int_equal(store_find_run(store, "ol", &a, &run, NULL), 0);
    assert_null(run.id);
    assert_int_equal(store_find_task(store, "old", "x", &a, &task, NULL), 0);
    assert_int_equal(task.attempts, 3);
    assert_int_equal(store_find_task(store, "new", "x", &a, &task, NULL), 0);
    assert_null(task.id);
    arena_done(&a);
}

static bool count_run(void *ctx, const struct store_run *run)
{
    char *seen = ctx;
    strcat(seen, run->id);
    return true;
}

/* Another process sees what was committed, and only that. */
static void readers_see_what_is_committed(void **state)
{
    autostore struct store *writer = NULL, *reader = NULL;
    char seen[100] = "";
    struct store_run run = {.id = "one", .started = 1};
    assert_int_equal(store_open(&writer, *state, true, NULL), 0);
    assert_int_equal(store_open(&reader, *state, false, NULL), 0);
    assert_int_equal(store_begin(writer, NULL), 0);
    assert_int_equal(store_put_run(writer, &run, NULL), 0);
    assert_int_equal(store_each_run(reader, count_run, seen, NULL), 0);
    assert_string_equal(seen, "");
    assert_int_equal(store_commit(writer, NULL), 0);
    run.id = "two";
    run.started = 2;
    assert_int_equal(store_put_run(writer, &run, NULL), 0);
    assert_int_equal(store_each_run(reader, count_run, seen, NULL), 0);
    assert_string_equal(seen, "twoone");
}

/* Runs that begin at the same moment in a new repository: the change to WAL takes turns. */
static void many_may_make_it_at_once(void **state)
{
    enum { ROUNDS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        char dir[300];
        (void)snprintf(dir, sizeof(dir), "%s/%d", (char *)*state, round);
        assert_int_equal(dirs_make(dir, NULL), 0);
        open_at_once(dir);
    }
}

static void a_store_that_was_never_made_is_told(void **state)
{
    struct store *store = NULL;
    struct err err = {0};
    assert_int_equal(store_open(&store, *state, false, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

/* Groups of writes */

/* SQLite's own calls come here. */
static int syncs;

int fsync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

static void groups_are_on_disk_and_single_writes_soon(void **state)
{
    autostore struct store *store = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    struct store_task task = {.run = "r", .id = "t"};
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    for (int round = 0; round < 3; round++) {
        syncs = 0;
        assert_int_equal(store_add_event(store, &ev, NULL), 0);
        assert_int_equal(store_put_task(store, &task, NULL), 0);
        assert_int_equal(syncs, 0);
        assert_int_equal(store_begin(store, NULL), 0);
        assert_int_equal(store_add_event(store, &ev, NULL), 0);
        assert_int_equal(store_put_task(store, &task, NULL), 0);
        assert_int_equal(syncs, 0);
        assert_int_equal(store_commit(store, NULL), 0);
        assert_int_equal(syncs, 1);
        assert_int_equal(store_begin_soon(store, NULL), 0);
        assert_int_equal(store_add_event(store, &ev, NULL), 0);
        assert_int_equal(store_put_task(store, &task, NULL), 0);
        assert_int_equal(store_commit(store, NULL), 0);
        assert_int_equal(syncs, 1);
    }
    char seen[100] = "";
    assert_int_equal(store_each_event(store, "r", 0, take_names, seen, NULL), 0);
    assert_int_equal(strlen(seen), strlen("x-") * (1 + 3 * 3));
}

static void spoil(const char *dir, const char *when)
{
    char path[300], text[300];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/state.db", dir);
    (void)snprintf(text, sizeof(text),
                   "create trigger spoil before insert on %s"
                   " begin select raise(rollback, 'the disk is full'); end",
                   when);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The failure ends SQLite's transaction: what follows in the group must not be kept, either. */
static void a_group_with_a_failure_leaves_nothing(void **state)
{
    autostore struct store *store = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    struct store_task task = {.run = "r", .id = "t"};
    struct err err = {0};
    char seen[100] = "";
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    spoil(*state, "tasks when new.id = 't'");
    assert_int_equal(store_begin_soon(store, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(store_put_task(store, &task, &err), -1);
    assert_int_equal(store_commit(store, &err), -1);
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(store_put_task(store, &task, &err), -1);
    assert_non_null(strstr(err.msg, "the disk is full"));
    assert_int_equal(store_add_event(store, &ev, &err), -1);
    assert_int_equal(store_commit(store, &err), -1);
    assert_int_equal(store_each_event(store, "r", 0, take_names, seen, NULL), 0);
    assert_string_equal(seen, "");
    assert_int_equal(store_add_event(store, &ev, NULL), 0); /* it can be tried again */
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(store_commit(store, NULL), 0);
    assert_int_equal(store_each_event(store, "r", 0, take_names, seen, NULL), 0);
    assert_string_equal(seen, "x-x-");
}

/* A full disk */

/* The memory that it shares with its readers is a file's. There may be no room for a page of it
 * when it is written to, as on a full btrfs; to cut the file off is the same to who writes. */
static void cut_shared_memory(const char *dir)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/state.db-shm", dir);
    assert_int_equal(truncate(path, 0), 0);
}

/* Another process, which was there before: SQLite knows of our locks here. It adds an event when it
 * is told to, and ends with 0 where that is the second one. */
static pid_t start_other(const char *dir, int *ret_go)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char order, seen[100] = "";
        struct store *store = NULL;
        struct store_event ev = {.name = "x", .run = "r"};
        int rc = read(ends[0], &order, 1) != 1 || store_open(&store, dir, true, NULL) ||
                 store_add_event(store, &ev, NULL) ||
                 store_each_event(store, "r", 0, take_names, seen, NULL);
        store_close(store);
        _exit(rc || strcmp(seen, "x-x-") != 0);
    }
    close(ends[0]);
    *ret_go = ends[1];
    return pid;
}

static void no_room_for_what_readers_share_is_a_failed_write(void **state)
{
    autostore struct store *store = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    struct err err = {0};
    char seen[100] = "";
    int go, status;
    pid_t other = start_other(*state, &go);
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    cut_shared_memory(*state);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_add_event(store, &ev, &err), -1);
        assert_non_null(strstr(err.msg, "no space left"));
        assert_int_equal(store_each_event(store, "r", 0, take_names, seen, &err), -1);
        assert_int_equal(store_begin(store, &err), -1);
        assert_int_equal(store_commit(store, &err), -1);
    }
    assert_string_equal(seen, "");
    assert_int_equal(write(go, "g", 1), 1); /* nobody waits for us, and nothing is lost */
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    close(go);
}

static void no_room_for_a_reader_is_told(void **state)
{
    autostore struct store *writer = NULL, *reader = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    struct err err = {0};
    int64_t version;
    assert_int_equal(store_open(&writer, *state, true, NULL), 0);
    assert_int_equal(store_open(&reader, *state, false, NULL), 0);
    assert_int_equal(store_add_event(writer, &ev, NULL), 0);
    cut_shared_memory(*state);
    assert_int_equal(store_version(reader, &version, &err), -1);
    assert_non_null(strstr(err.msg, "no space left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_come_back_in_order, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(events_of_the_engine_come_back_in_order, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_group_need_not_be_on_disk, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(rows_are_replaced_by_key, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_row_is_found_by_its_id, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(readers_see_what_is_committed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(many_may_make_it_at_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_store_that_was_never_made_is_told, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(groups_are_on_disk_and_single_writes_soon, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_group_with_a_failure_leaves_nothing, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(no_room_for_what_readers_share_is_a_failed_write,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_room_for_a_reader_is_told, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
