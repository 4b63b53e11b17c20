#include "base/mem.h"
#include "store/store.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "openers.h"
#include "sys/own_fd.h"

#define RUN "20260301-120000-12ab"

/* The state that the tests check */

static char *path_of(void **state, const char *name)
{
    return mem_printf("%s/%s", (const char *)*state, name);
}

/* How many files of the folder have names that begin so. */
static int count_files(void **state, const char *beginning)
{
    DIR *d = opendir(*state);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strncmp(e->d_name, beginning, strlen(beginning)) == 0;
    assert_int_equal(closedir(d), 0);
    return n;
}

static void read_db(void **state, struct buf *out)
{
    autofree char *path = path_of(state, "state.db");
    assert_int_equal(file_read(path, 64 << 20, out, NULL), 0);
}

static void execute(void **state, const char *sql)
{
    autofree char *path = path_of(state, "state.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int take_number(void *ctx, int n, char **values, char **names)
{
    (void)names;
    assert_int_equal(n, 1);
    *(int *)ctx = (int)strtol(values[0], NULL, 10);
    return 0;
}

static int number(void **state, const char *sql)
{
    autofree char *path = path_of(state, "state.db");
    sqlite3 *db = NULL;
    int result = -1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, take_number, &result, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return result;
}

static bool take_run(void *ctx, const struct store_run *run)
{
    buf_addf(ctx, "%s %s %s %lld;", run->id, run->state, run->plan ? run->plan : "-",
             (long long)run->started);
    return true;
}

static bool take_task(void *ctx, const struct store_task *t)
{
    buf_addf(ctx, "%s %s %d;", t->id, t->state, t->attempts);
    return true;
}

/* A store with a run in the given state, and enough events to have pages in its middle. */
static void fill(void **state, const char *run_state)
{
    autostore struct store *store = NULL;
    struct store_run run = {.id = RUN, .state = run_state, .started = 1, .pid = 1, .pid_start = 1};
    struct store_event ev = {.name = "x", .run = RUN, .data = "{\"a\":\"some more text here\"}"};
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_put_run(store, &run, NULL), 0);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(store_commit(store, NULL), 0);
}

static void overwrite(void **state, off_t at, size_t len)
{
    autofree char *path = path_of(state, "state.db");
    autofree char *junk = mem_alloc(len);
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    memset(junk, 0x5a, len);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, len, at), len);
}

/* Opened to be written it is set aside, and what is there then works. */
static void assert_set_aside(void **state)
{
    autostore struct store *store = NULL;
    struct store_event ev = {.name = "x", .run = "r"};
    struct err err = {0};
    assert_int_equal(store_open(&store, *state, true, &err), 0);
    assert_non_null(store_notice(store));
    assert_non_null(strstr(store_notice(store), "state.db.damaged-"));
    assert_true(count_files(state, "state.db.damaged-") >= 1);
    assert_int_equal(store_add_event(store, &ev, NULL), 0);
    assert_int_equal(ev.seq, 1);
}

/* Opened to be read it is told, and stays as it is. */
static void assert_told(void **state)
{
    struct store *store = NULL;
    struct err err = {0};
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    read_db(state, &before);
    assert_int_equal(store_open(&store, *state, false, &err), -1);
    assert_int_equal(err.code, ERR_ENV);
    assert_non_null(strstr(err.msg, "is damaged"));
    assert_int_equal(count_files(state, "state.db.damaged-"), 0);
    read_db(state, &after);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.s, after.s, before.len);
}

/* Versions */

/* As the program made it that did not count versions yet. */
static const char version_0[] =
    "pragma journal_mode=wal;"
    "create table runs (id text primary key, plan text, name text, base text,"
    " base_commit text, tip text, state text, started integer, finished integer, pid integer,"
    " pid_start integer, exit_code integer) without rowid;"
    "create table tasks (run text, id text, title text, engine text, state text,"
    " failure text, reason text, branch text, workspace text, start_commit text, commit_id text,"
    " landed text, place integer, attempts integer, exit_code integer, started integer,"
    " finished integer, tokens_in integer, tokens_out integer, usd real,"
    " primary key (run, id)) without rowid;"
    "create table events (seq integer primary key, time integer, name text, run text,"
    " task text, attempt integer, data text);"
    "create index events_of_run on events (run, seq);"
    "insert into runs (id, state, plan, started) values ('" RUN "', 'finished', 'p.yaml', 7);"
    "insert into tasks (run, id, state, attempts) values ('" RUN "', 'a', 'landed', 2);";

static void an_older_store_is_brought_up_to_date(void **state)
{
    autostore struct store *store = NULL;
    autobuf struct buf seen = BUF_INIT;
    execute(state, version_0);
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_null(store_notice(store));
    assert_true(number(state, "pragma user_version") >= 1);
    assert_int_equal(store_each_run(store, take_run, &seen, NULL), 0);
    assert_int_equal(store_each_task(store, RUN, take_task, &seen, NULL), 0);
    assert_string_equal(seen.s, RUN " finished p.yaml 7;a landed 2;");
}

static void reading_brings_nothing_up_to_date(void **state)
{
    autostore struct store *store = NULL;
    autobuf struct buf seen = BUF_INIT;
    execute(state, version_0);
    assert_int_equal(store_open(&store, *state, false, NULL), 0);
    assert_int_equal(store_each_run(store, take_run, &seen, NULL), 0);
    assert_string_equal(seen.s, RUN " finished p.yaml 7;");
    assert_int_equal(number(state, "pragma user_version"), 0);
}

static bool take_spending(void *ctx, const struct store_spending *s)
{
    buf_addf(ctx, "%s %.2f %s;", s->task, s->usd, s->prices ? s->prices : "-");
    return true;
}

/* Costs from a store without prices can be read, before and after we add prices. */
static void spending_without_prices_is_read(void **state)
{
    autostore struct store *store = NULL;
    autobuf struct buf seen = BUF_INIT;
    struct store_spending more = {.run = RUN, .task = "b", .usd = 2, .prices = "2026-11-01"};
    execute(state, version_0);
    execute(state, "create table spending (run text, task text, attempt integer, engine text,"
                   " model text, time integer, tokens_in integer, tokens_out integer,"
                   " cache_read integer, cache_made integer, usd real,"
                   " primary key (run, task, attempt)) without rowid;"
                   "insert into spending (run, task, attempt, time, usd)"
                   " values ('" RUN "', 'a', 1, 7, 0.5); pragma user_version=2");
    assert_int_equal(store_open(&store, *state, false, NULL), 0);
    assert_int_equal(store_each_spending(store, NULL, 0, take_spending, &seen, NULL), 0);
    assert_string_equal(seen.s, "a 0.50 -;");
    store_close(steal_ptr(store));
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(store_put_spending(store, &more, NULL), 0);
    buf_cut(&seen, 0);
    assert_int_equal(store_each_spending(store, RUN, 0, take_spending, &seen, NULL), 0);
    assert_string_equal(seen.s, "a 0.50 -;b 2.00 2026-11-01;");
}

static bool take_lines(void *ctx, const char *lines)
{
    buf_addstr(ctx, lines);
    return true;
}

/* A store of each earlier version can be read, and then be written to. We make it older again. */
static void a_store_without_events_of_the_engine_is_read(void **state)
{
    for (int version = 0; version <= 5; version++) {
        autostore struct store *store = NULL;
        autobuf struct buf seen = BUF_INIT;
        autofree char *set_version =
            mem_printf("drop table if exists engine_events; pragma user_version=%d", version);
        if (!version)
            execute(state, version_0);
        execute(state, set_version);
        if (version == 1 || version == 2) /* the column came with version 3 */
            execute(state, "alter table spending drop column prices");
        assert_int_equal(store_open(&store, *state, false, NULL), 0);
        assert_int_equal(store_each_engine_events(store, RUN, take_lines, &seen, NULL), 0);
        assert_string_equal(seen.s, "");
        store_close(steal_ptr(store));
        assert_int_equal(store_open(&store, *state, true, NULL), 0);
        assert_int_equal(store_add_engine_events(store, RUN, "begin\n", NULL), 0);
        assert_int_equal(store_each_engine_events(store, RUN, take_lines, &seen, NULL), 0);
        assert_string_equal(seen.s, "begin\n");
        assert_int_equal(store_each_task(store, RUN, take_task, &seen, NULL), 0);
        assert_string_equal(seen.s, "begin\na landed 2;");
    }
}

static void a_migration_that_fails_changes_nothing(void **state)
{
    struct store *store = NULL;
    struct err err = {0};
    execute(state, "create view events as select 1 as x"); /* in the way of the last table */
    assert_int_equal(store_open(&store, *state, true, &err), -1);
    assert_int_equal(number(state, "pragma user_version"), 0);
    assert_int_equal(number(state, "select count(*) from sqlite_master"), 1);
    assert_int_equal(count_files(state, "state.db.damaged-"), 0);
}

static void a_newer_store_is_never_touched(void **state)
{
    fill(state, "running");
    execute(state, "pragma user_version=4711");
    for (int create = 0; create <= 1; create++) {
        struct store *store = NULL;
        struct err err = {0};
        autobuf struct buf before = BUF_INIT, after = BUF_INIT;
        read_db(state, &before);
        assert_int_equal(store_open(&store, *state, create, &err), -1);
        assert_int_equal(err.code, ERR_ENV);
        assert_non_null(strstr(err.msg, "newer anabranch"));
        assert_non_null(strstr(err.msg, "4711"));
        read_db(state, &after);
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.s, after.s, before.len);
    }
    assert_int_equal(count_files(state, "state.db.damaged-"), 0);
}

/* Damage */

static void what_is_no_database_is_set_aside(void **state)
{
    autofree char *path = path_of(state, "state.db");
    autobuf struct buf text = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_addstr(&text, "this is not a database\n");
    assert_int_equal(file_create(path, text.s, text.len, NULL), 0);
    assert_told(state);
    assert_set_aside(state);
}

static void a_truncated_one_is_set_aside(void **state)
{
    autofree char *path = path_of(state, "state.db");
    fill(state, "finished");
    assert_int_equal(truncate(path, 3 * 4096 + 100), 0);
    assert_told(state);
    assert_set_aside(state);
}

/* The header and the tables of the schema are fine; only a look at all of it shows. */
static void a_bad_page_is_found_after_a_crash(void **state)
{
    fill(state, "running");
    overwrite(state, (off_t)20 * 4096, 4096);
    assert_set_aside(state);
}

static void a_good_one_stays_after_a_crash(void **state)
{
    autostore struct store *store = NULL;
    autobuf struct buf seen = BUF_INIT;
    fill(state, "running");
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_null(store_notice(store));
    assert_int_equal(store_each_run(store, take_run, &seen, NULL), 0);
    assert_string_equal(seen.s, RUN " running - 1;");
    assert_int_equal(count_files(state, "state.db.damaged-"), 0);
}

/* The log of a dead writer moves with its own database, not into the new one.
 */
static void the_log_goes_with_its_file(void **state)
{
    fill(state, "running");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct store *store = NULL;
        struct store_run run = {.id = RUN, .state = "running", .started = 1};
        _exit(store_open(&store, *state, true, NULL) || store_put_run(store, &run, NULL));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(state, "state.db-wal"), 1);
    overwrite(state, (off_t)20 * 4096, 4096);
    assert_set_aside(state);
    assert_int_equal(count_files(state, "state.db.damaged-"), 3);
    assert_int_equal(number(state, "select count(*) from runs"), 0);
}

static void an_empty_log_or_index_is_no_damage(void **state)
{
    static const char *const names[] = {"state.db-wal", "state.db-shm"};
    autostore struct store *store = NULL;
    fill(state, "finished");
    for (size_t i = 0; i < 2; i++) {
        autofree char *path = path_of(state, names[i]);
        assert_int_equal(file_replace(path, "", 0, NULL), 0);
    }
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_null(store_notice(store));
    assert_int_equal(number(state, "select count(*) from events"), 2000);
}

static void many_may_find_the_damage_at_once(void **state)
{
    fill(state, "finished");
    overwrite(state, 0, 4096);
    open_at_once(*state);
    assert_int_equal(number(state, "select count(*) from events"), CHILDREN);
    assert_true(count_files(state, "state.db.damaged-") <= 3); /* one, and its log and index */
}

/* Recovery of earlier runs */

static void add_file(void **state, const char *name, const char *text)
{
    autofree char *path = path_of(state, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dirs_make(path, NULL), 0);
    *slash = '/';
    assert_int_equal(file_create(path, text, strlen(text), NULL), 0);
}

static void runs_are_found_by_their_folders(void **state)
{
    autostore struct store *store = NULL;
    autobuf struct buf seen = BUF_INIT;
    add_file(state, "runs/" RUN "/run.json",
             "{\"id\": \"" RUN "\", \"plan\": \"p.yaml\", \"base\": \"main\", \"started\": 5}");
    add_file(state, "runs/" RUN "/plan.json",
             "{\"tasks\": [{\"id\": \"z\"}, {\"id\": \"never\"}, {\"id\": \"a\"}]}");
    add_file(state, "runs/" RUN "/a/1/out", "");
    add_file(state, "runs/" RUN "/a/12/out", "");
    add_file(state, "runs/" RUN "/a/3x/out", "");
    add_file(state, "runs/" RUN "/z/1/out", "");
    add_file(state, "runs/" RUN "/socket/x", "");
    add_file(state, "runs/20260301-120001-12ab/b/1/out", "");
    add_file(state, "runs/20260301-120001-12ab/run.json", "not JSON");
    add_file(state, "runs/20261301-120001-12ab/b/1/out", "no such month");
    add_file(state, "runs/other/b/1/out", "");
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_non_null(strstr(store_notice(store), "2 earlier runs were recovered"));
    assert_int_equal(store_each_run(store, take_run, &seen, NULL), 0);
    assert_string_equal(seen.s,
                        "20260301-120001-12ab unknown - 1772366401000;" RUN " unknown p.yaml 5;");
    buf_cut(&seen, 0);
    assert_int_equal(store_each_task(store, RUN, take_task, &seen, NULL), 0);
    assert_string_equal(seen.s, "z running 1;never waiting 0;a running 12;");
}

/* Only a new store is filled so: what is in an old one is known better. */
static void a_store_that_is_there_is_not_filled(void **state)
{
    autostore struct store *store = NULL;
    fill(state, "finished");
    add_file(state, "runs/20260301-120001-12ab/b/1/out", "");
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_null(store_notice(store));
    assert_int_equal(number(state, "select count(*) from runs"), 1);
}

static void an_empty_file_is_a_new_store(void **state)
{
    autostore struct store *store = NULL;
    struct store *reader = NULL;
    struct err err = {0};
    add_file(state, "state.db", "");
    add_file(state, "runs/" RUN "/a/1/out", "");
    assert_int_equal(store_open(&reader, *state, false, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_int_equal(store_open(&store, *state, true, NULL), 0);
    assert_int_equal(number(state, "select count(*) from runs"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_older_store_is_brought_up_to_date),
        TEST(reading_brings_nothing_up_to_date),
        TEST(spending_without_prices_is_read),
        TEST(a_store_without_events_of_the_engine_is_read),
        TEST(a_migration_that_fails_changes_nothing),
        TEST(a_newer_store_is_never_touched),
        TEST(what_is_no_database_is_set_aside),
        TEST(a_truncated_one_is_set_aside),
        TEST(a_bad_page_is_found_after_a_crash),
        TEST(a_good_one_stays_after_a_crash),
        TEST(the_log_goes_with_its_file),
        TEST(an_empty_log_or_index_is_no_damage),
        TEST(many_may_find_the_damage_at_once),
        TEST(runs_are_found_by_their_folders),
        TEST(a_store_that_is_there_is_not_filled),
        TEST(an_empty_file_is_a_new_store),
    };
    return cmocka_run_group_tests_name("store_open", tests, NULL, NULL);
}
