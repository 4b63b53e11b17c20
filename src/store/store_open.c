/*
 * Opens the store: decides if the file can be used unchanged, must be migrated, or must be set
 * aside.
 */
#include "store/store_private.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/timestamp.h"
#include "sys/clock.h"
#include "sys/contain/hide.h"
#include "sys/fs/dirs.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, PAUSE_MS = 10 };

/* KiB of pages that a connection keeps, instead of 2,000: we mostly append, and read once. */
#define SMALL_CACHE "pragma cache_size=-512"

/* Entry i migrates version i to version i + 1. Only ever append entries: a database may have any
 * age. The first entry also fits databases of programs that did not count versions yet. */
static const char *const migrations[] = {
    "create table if not exists runs (id text primary key, plan text, name text, base text,"
    " base_commit text, tip text, state text, started integer, finished integer, pid integer,"
    " pid_start integer, exit_code integer) without rowid;"
    "create table if not exists tasks (run text, id text, title text, engine text, state text,"
    " failure text, reason text, branch text, workspace text, start_commit text, commit_id text,"
    " landed text, place integer, attempts integer, exit_code integer, started integer,"
    " finished integer, tokens_in integer, tokens_out integer, usd real,"
    " primary key (run, id)) without rowid;"
    "create table if not exists events (seq integer primary key, time integer, name text, run text,"
    " task text, attempt integer, data text);"
    "create index if not exists events_of_run on events (run, seq);",
    "create table if not exists spending (run text, task text, attempt integer, engine text, model "
    "text,"
    " time integer, tokens_in integer, tokens_out integer, cache_read integer, cache_made integer,"
    " usd real, primary key (run, task, attempt)) without rowid;",
    "alter table spending add column prices text;",
    "create table if not exists seals (run text primary key, digests text) without rowid;",
    "create index if not exists resumes_of_run on events (run, seq) where name = 'run.resumed';",
    ("create table if not exists engine_events (run text, seq integer, events text,"
     " primary key (run, seq)) without rowid;"),
};

enum { VERSION = ARRAY_LEN(migrations) };

/* Replaces SQLite's open() for a database, its journal and their folder. An agent may have put a
 * FIFO there, which would block SQLite for ever. */
static int open_regular(const char *path, int flags, int mode)
{
    autoclose int fd = open(path, flags | O_NONBLOCK | O_NOCTTY, mode);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return steal_fd(&fd);
    errno = EINVAL;
    return -1;
}

static void install_open(void)
{
    static bool done;
    sqlite3_vfs *vfs = done ? NULL : sqlite3_vfs_find(NULL);
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        (void)vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_regular);
    done = true;
}

/* When SQLite starts or ends WAL mode, it may answer "locked" at once, to avoid a deadlock. Here it
 * only means that another run begins or ends at the same moment, so we try again. */
static int execute_and_wait(struct store *store, const char *sql, const char *what, struct err *err)
{
    for (int waited = 0;; waited += PAUSE_MS) {
        int rc = store_execute(store, sql);
        if ((rc != SQLITE_BUSY && rc != SQLITE_LOCKED) || waited >= BUSY_MS)
            return rc == SQLITE_OK ? 0 : store_failed(store, what, err);
        (void)sqlite3_sleep(PAUSE_MS);
    }
}

/* Passes the first row of a query to `fn`; no row is no failure. */
typedef void row_fn(void *ctx, sqlite3_stmt *stmt);

static int query_rows(struct store *store, const char *sql, row_fn *fn, void *ctx, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = store_prepare(store, sql, &stmt);
    if (rc == SQLITE_OK && (rc = store_step(store, stmt)) == SQLITE_ROW)
        fn(ctx, stmt);
    int result = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : store_failed(store, "read", err);
    store_finalize(store, stmt);
    return result;
}

static void read_int(void *ctx, sqlite3_stmt *stmt)
{
    *(int *)ctx = sqlite3_column_int(stmt, 0);
}

/* *ret_tables is 0 if the database is still empty. */
static int read_version(struct store *store, int *ret_version, int *ret_tables, struct err *err)
{
    int version = 0, tables = 0;
    if (query_rows(store, "pragma user_version", read_int, &version, err) ||
        query_rows(store, "select count(*) from sqlite_master where name = 'runs'", read_int,
                   &tables, err))
        return -1;
    if (version > VERSION)
        return err_set(
            err, ERR_ENV,
            "state.db was written by a newer anabranch: it has version %d, and this "
            "program supports %d; use the newer program, or move '%s' away to start over",
            version, VERSION, sqlite3_db_filename(store->db, "main"));
    *ret_version = store->version = version;
    *ret_tables = tables;
    return 0;
}

/* True if the run ended normally or is still running. */
static void read_ended(void *ctx, sqlite3_stmt *stmt)
{
    const char *state = (const char *)sqlite3_column_text(stmt, 0);
    int64_t start = sqlite3_column_int64(stmt, 2);
    bool runs = state && strcmp(state, "running") == 0;
    bool alive = start && proc_table_start((pid_t)sqlite3_column_int64(stmt, 1)) == start;
    *(bool *)ctx = state && strcmp(state, "broken") != 0 && (!runs || alive);
}

static void read_check(void *ctx, sqlite3_stmt *stmt)
{
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    *(bool *)ctx = text && strcmp(text, "ok") == 0;
}

/* Reads the whole file, so we check only after a run that did not end normally. */
static int check_pages(struct store *store, struct err *err)
{
    bool ended = true, good = false;
    if (query_rows(store, "select state, pid, pid_start from runs order by started desc limit 1",
                   read_ended, &ended, err))
        return -1;
    if (ended)
        return 0;
    if (query_rows(store, "pragma quick_check(1)", read_check, &good, err))
        return -1;
    if (good)
        return 0;
    store->damaged = true;
    return err_set(err, ERR_ENV, "state.db: its pages contradict each other");
}

static void note_runs(struct store *store, size_t runs, const struct err *failure)
{
    if (failure->code)
        store->notice = mem_printf("earlier runs could not be recovered: %s", failure->msg);
    else if (runs)
        store->notice = mem_printf("%zu earlier run%s recovered from refs and run folders", runs,
                                   runs == 1 ? " was" : "s were");
}

static int run_migrations(struct store *store, const char *dir, struct err *err)
{
    int version = 0, tables = 0;
    size_t runs = 0;
    struct err lost = {0};
    if (read_version(store, &version, &tables, err))
        return -1;
    for (; version < VERSION; version++) {
        if (execute_and_wait(store, migrations[version], "migrate", err))
            return -1;
    }
    if (!tables) {
        (void)store_rebuild(store, dir, &runs, &lost);
        note_runs(store, runs, &lost);
    }
    autofree char *set_version = mem_printf("pragma user_version=%d", VERSION);
    store->version = VERSION;
    return execute_and_wait(store, set_version, "set its version", err);
}

/* Migrates all or nothing. Another process that wants to migrate at the same moment waits, and then
 * finds it done. */
static int migrate_schema(struct store *store, const char *dir, struct err *err)
{
    if (execute_and_wait(store, "begin immediate", "begin", err))
        return -1;
    if (run_migrations(store, dir, err) || execute_and_wait(store, "commit", "commit", err)) {
        bool damaged = store->damaged;
        (void)store_execute(store, "rollback");
        store->damaged = damaged;
        return -1;
    }
    return 0;
}

/* If `keep`, closing the store does not change its files: we have not accepted them. */
static void keep_unchanged(struct store *store, bool keep)
{
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)keep, NULL);
}

static int prepare_store(struct store *store, const char *dir, struct err *err)
{
    int version = 0, tables = 0;
    keep_unchanged(store, true);
    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return err_set(err, ERR_ENV, "'%s' cannot be written to",
                       sqlite3_db_filename(store->db, "main"));
    if (read_version(store, &version, &tables, err) || (tables && check_pages(store, err)))
        return -1;
    /* Groups use "full"; the other writes are safe enough without it: see store.h. */
    if (execute_and_wait(store, "pragma journal_mode=wal; pragma synchronous=normal; " SMALL_CACHE,
                         "set up", err) ||
        (version < VERSION && migrate_schema(store, dir, err)))
        return -1;
    keep_unchanged(store, false);
    return 0;
}

static int open_once(struct store **ret, const char *path, const char *dir, bool *ret_damaged,
                     struct err *err)
{
    autostore struct store *store = mem_alloc(sizeof(*store));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        return store_failed(store, "open", err);
    if (prepare_store(store, dir, err)) {
        *ret_damaged = store->damaged;
        return -1;
    }
    *ret = steal_ptr(store);
    return 0;
}

/* "state.db.damaged-20260301-120000", with a number if that exists. */
static char *get_aside_name(const char *path)
{
    autobuf struct buf time = BUF_INIT, name = BUF_INIT;
    timestamp_format(&time, clock_wall());
    buf_addf(&name, "%s.damaged-", path);
    for (const char *c = time.s; *c && *c != '.'; c++) {
        if (*c == 'T')
            buf_addch(&name, '-');
        else if (*c >= '0' && *c <= '9')
            buf_addch(&name, *c);
    }
    size_t len = name.len;
    for (int n = 2; access(name.s, F_OK) == 0; n++) {
        buf_cut(&name, len);
        buf_addf(&name, "-%d", n);
    }
    return buf_steal(&name);
}

/* The log keeps the name by which SQLite finds it for the renamed file. We move it first, so that
 * it never stands beside a new file. */
static int set_aside(const char *path, const char *aside, struct err *err)
{
    static const char *const endings[] = {"-shm", "-wal", ""};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        autofree char *from = mem_printf("%s%s", path, endings[i]);
        autofree char *to = mem_printf("%s%s", aside, endings[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return err_sys(err, "set '%s' aside", from);
    }
    return 0;
}

/* Takes a lock: another process that found the same damage may have created a new store
 * meanwhile. */
static int replace_damaged(struct store **ret, const char *path, const char *dir, struct err *err)
{
    autofree char *lock_path = mem_printf("%s/turn", dir), *aside = get_aside_name(path);
    autoclose int lock = -1;
    bool damaged = false;
    struct err why = {0};
    if (dirs_lock(lock_path, &lock, err))
        return -1;
    if (open_once(ret, path, dir, &damaged, &why) == 0)
        return 0;
    if (!damaged)
        return err_set(err, why.code, "%s", why.msg);
    if (set_aside(path, aside, err) || open_once(ret, path, dir, &damaged, err))
        return -1;
    autofree char *found = (*ret)->notice;
    (*ret)->notice = mem_printf("the journal of earlier runs was damaged and is now '%s' (%s)%s%s",
                                aside, why.msg, found ? "; " : "", found ? found : "");
    return 0;
}

static int open_writable(struct store **ret, const char *path, const char *dir, struct err *err)
{
    bool damaged = false;
    if (open_once(ret, path, dir, &damaged, err) == 0)
        return 0;
    return damaged ? replace_damaged(ret, path, dir, err) : -1;
}

static int fail_never_ran(struct err *err)
{
    return err_set(err, ERR_INPUT, "nothing was ever run in this repository");
}

/* SQLite creates a log and its index even for reading. If we may not write in the folder and there
 * is no log, we can read the file without them. */
static int open_immutable(struct store *store, const char *path, struct err *err)
{
    autofree char *log = mem_printf("%s-wal", path);
    autobuf struct buf uri = BUF_INIT;
    if ((sqlite3_errcode(store->db) & 0xff) != SQLITE_CANTOPEN || access(log, F_OK) == 0)
        return -1;
    buf_addstr(&uri, "file:");
    for (const char *c = path; *c; c++)
        buf_addf(&uri, strchr("%?#", *c) ? "%%%02x" : "%c", *c);
    buf_addstr(&uri, "?immutable=1");
    store_shut(store);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    return sqlite3_open_v2(uri.s, &store->db, flags, NULL) == SQLITE_OK
               ? 0
               : store_failed(store, "open", err);
}

/* A writer was killed in the middle of a transaction. SQLite undoes it when somebody reads who may
 * write. */
static int open_to_undo(struct store *store, const char *path, struct err *err)
{
    store_shut(store);
    if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return store_failed(store, "open", err);
    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    return 0;
}

static int open_again(struct store *store, const char *path, struct err *err)
{
    bool must_undo = (sqlite3_errcode(store->db) & 0xff) == SQLITE_READONLY;
    return must_undo ? open_to_undo(store, path, err) : open_immutable(store, path, err);
}

static int fail_damaged(struct store *store, const char *path, struct err *err)
{
    return err_set(err, ERR_ENV,
                   "'%s' is damaged (%s): the next run sets it aside and recovers what it can",
                   path, sqlite3_errmsg(store->db));
}

static int open_readable(struct store **ret, const char *path, struct err *err)
{
    autostore struct store *store = mem_alloc(sizeof(*store));
    int version = 0, tables = 0;
    if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return store_failed(store, "open", err);
    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    if (read_version(store, &version, &tables, err) &&
        (open_again(store, path, err) || read_version(store, &version, &tables, err)))
        return store->damaged ? fail_damaged(store, path, err) : -1;
    if (!tables)
        return fail_never_ran(err);
    if (execute_and_wait(store, SMALL_CACHE, "set up", err))
        return -1;
    *ret = steal_ptr(store);
    return 0;
}

int store_open(struct store **ret, const char *dir, bool create, struct err *err)
{
    autofree char *path = mem_printf("%s/state.db", dir);
    struct stat st;
    bool missing = stat(path, &st) < 0 && errno == ENOENT;
    install_open();
    if (missing && hide_is_hidden(dir))
        return err_set(err, ERR_ENV,
                       "the runs of this repository are hidden from processes inside a task");
    if (create)
        return open_writable(ret, path, dir, err);
    return missing ? fail_never_ran(err) : open_readable(ret, path, err);
}
