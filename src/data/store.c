#include "data/store.h"

#include "base/mem.h"
#include "sys/kill_point.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

enum statement {
    ADD_EVENT,
    PUT_RUN,
    PUT_TASK,
    EACH_RUN,
    EACH_TASK,
    EACH_EVENT,
    BEGIN,
    COMMIT,
    STATEMENT_COUNT_,
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *stmt[STATEMENT_COUNT_];
};

enum { BUSY_MS = 10000, PAUSE_MS = 10 };

static const char schema[] =
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
    "create index if not exists events_of_run on events (run, seq);";

static const char *const sql[STATEMENT_COUNT_] = {
    [ADD_EVENT] = "insert into events (time, name, run, task, attempt, data)"
                  " values (?, ?, ?, ?, ?, ?)",
    [PUT_RUN] = "insert or replace into runs (id, plan, name, base, base_commit, tip, state,"
                " started, finished, pid, pid_start, exit_code)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_TASK] = "insert or replace into tasks (run, id, title, engine, state, failure, reason,"
                 " branch, workspace, start_commit, commit_id, landed, place, attempts, exit_code,"
                 " started, finished, tokens_in, tokens_out, usd)"
                 " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [EACH_RUN] = "select id, plan, name, base, base_commit, tip, state, started, finished, pid,"
                 " pid_start, exit_code from runs order by started desc, id desc",
    [EACH_TASK] = "select run, id, title, engine, state, failure, reason, branch, workspace,"
                  " start_commit, commit_id, landed, place, attempts, exit_code, started, finished,"
                  " tokens_in, tokens_out, usd from tasks where run = ? order by place",
    [EACH_EVENT] = "select seq, time, name, run, task, attempt, data from events"
                   " where run = ? and seq > ? order by seq",
    [BEGIN] = "begin immediate",
    [COMMIT] = "commit",
};

static int failed(struct store *store, const char *what, struct err *err)
{
    return err_set(err, ERR_ENV, "state.db: %s: %s", what, sqlite3_errmsg(store->db));
}

static int prepare(struct store *store, enum statement which, sqlite3_stmt **ret, struct err *err)
{
    sqlite3_stmt **stmt = &store->stmt[which];
    if (!*stmt && sqlite3_prepare_v3(store->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, stmt,
                                     NULL) != SQLITE_OK)
        return failed(store, "prepare", err);
    *ret = *stmt;
    return 0;
}

/* The change to WAL, and the clean-up after it, answer "locked" at once where waiting could be a
 * deadlock for SQLite; for us it is only another run that begins or ends at the same moment. */
static int set_up_patiently(sqlite3 *db, const char *statements)
{
    int rc;
    for (int waited = 0;; waited += PAUSE_MS) {
        rc = sqlite3_exec(db, statements, NULL, NULL, NULL);
        if ((rc != SQLITE_BUSY && rc != SQLITE_LOCKED) || waited >= BUSY_MS)
            return rc;
        (void)sqlite3_sleep(PAUSE_MS);
    }
}

static int set_up(struct store *store, struct err *err)
{
    sqlite3_busy_timeout(store->db, BUSY_MS);
    /* NORMAL in WAL mode survives our own death; only a power cut can lose the last events, and
     * what those say is in git's refs as well. */
    if (set_up_patiently(store->db, "pragma journal_mode=wal; pragma synchronous=normal;") !=
            SQLITE_OK ||
        set_up_patiently(store->db, schema) != SQLITE_OK)
        return failed(store, "set up", err);
    return 0;
}

int store_open(struct store **ret, const char *dir, bool create, struct err *err)
{
    autofree char *path = mem_printf("%s/state.db", dir);
    struct stat st;
    if (!create && stat(path, &st) < 0 && errno == ENOENT)
        return err_set(err, ERR_INPUT, "nothing was ever run in this repository");
    autostore struct store *store = mem_alloc(sizeof(*store));
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        return failed(store, "open", err);
    if (set_up(store, err))
        return -1;
    *ret = steal_ptr(store);
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (int i = 0; i < STATEMENT_COUNT_; i++)
        sqlite3_finalize(store->stmt[i]);
    sqlite3_close(store->db);
    free(store);
}

/* --- writing ------------------------------------------------------------------------------ */

/* Values bound one after the other. */
struct binder {
    sqlite3_stmt *stmt;
    int n;
};

static void bind_text(struct binder *b, const char *s)
{
    (void)sqlite3_bind_text(b->stmt, ++b->n, s, -1, SQLITE_STATIC);
}

static void bind_int(struct binder *b, int64_t n)
{
    (void)sqlite3_bind_int64(b->stmt, ++b->n, n);
}

/* Runs a statement to its end; a value that could not be bound makes it fail too. */
static int finish(struct store *store, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    kill_point(false);
    int rc = sqlite3_step(stmt);
    kill_point(true);
    int result = rc == SQLITE_DONE ? 0 : failed(store, what, err);
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
    return result;
}

int store_add_event(struct store *store, struct store_event *ev, struct err *err)
{
    struct binder b = {0};
    if (prepare(store, ADD_EVENT, &b.stmt, err))
        return -1;
    bind_int(&b, ev->time);
    bind_text(&b, ev->name);
    bind_text(&b, ev->run);
    bind_text(&b, ev->task);
    bind_int(&b, ev->attempt);
    bind_text(&b, ev->data);
    if (finish(store, b.stmt, "add an event", err))
        return -1;
    ev->seq = sqlite3_last_insert_rowid(store->db);
    return 0;
}

int store_put_run(struct store *store, const struct store_run *run, struct err *err)
{
    struct binder b = {0};
    if (prepare(store, PUT_RUN, &b.stmt, err))
        return -1;
    const char *const texts[] = {run->id,          run->plan, run->name, run->base,
                                 run->base_commit, run->tip,  run->state};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bind_text(&b, texts[i]);
    bind_int(&b, run->started);
    bind_int(&b, run->finished);
    bind_int(&b, run->pid);
    bind_int(&b, run->pid_start);
    bind_int(&b, run->exit_code);
    return finish(store, b.stmt, "write a run", err);
}

int store_put_task(struct store *store, const struct store_task *t, struct err *err)
{
    struct binder b = {0};
    if (prepare(store, PUT_TASK, &b.stmt, err))
        return -1;
    const char *const texts[] = {t->run,       t->id,           t->title,  t->engine,
                                 t->state,     t->failure,      t->reason, t->branch,
                                 t->workspace, t->start_commit, t->commit, t->landed};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bind_text(&b, texts[i]);
    const int64_t numbers[] = {t->place,    t->attempts,  t->exit_code, t->started,
                               t->finished, t->tokens_in, t->tokens_out};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        bind_int(&b, numbers[i]);
    (void)sqlite3_bind_double(b.stmt, ++b.n, t->usd);
    return finish(store, b.stmt, "write a task", err);
}

static int simple(struct store *store, enum statement which, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (prepare(store, which, &stmt, err))
        return -1;
    return finish(store, stmt, sql[which], err);
}

int store_begin(struct store *store, struct err *err)
{
    return simple(store, BEGIN, err);
}

int store_commit(struct store *store, struct err *err)
{
    return simple(store, COMMIT, err);
}

/* --- reading ------------------------------------------------------------------------------ */

/* Columns read one after the other. */
struct row {
    sqlite3_stmt *stmt;
    int n;
};

static const char *text(struct row *r)
{
    return (const char *)sqlite3_column_text(r->stmt, r->n++);
}

static int64_t number(struct row *r)
{
    return sqlite3_column_int64(r->stmt, r->n++);
}

static int end_query(struct store *store, sqlite3_stmt *stmt, int rc, struct err *err)
{
    int result = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : failed(store, "read", err);
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
    return result;
}

int store_each_run(struct store *store, store_run_fn *fn, void *ctx, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (prepare(store, EACH_RUN, &stmt, err))
        return -1;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct row r = {stmt, 0};
        struct store_run run = {0};
        const char **const texts[] = {&run.id,          &run.plan, &run.name, &run.base,
                                      &run.base_commit, &run.tip,  &run.state};
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            *texts[i] = text(&r);
        run.started = number(&r);
        run.finished = number(&r);
        run.pid = number(&r);
        run.pid_start = number(&r);
        run.exit_code = (int)number(&r);
        if (!fn(ctx, &run))
            break;
    }
    return end_query(store, stmt, rc, err);
}

int store_each_task(struct store *store, const char *run, store_task_fn *fn, void *ctx,
                    struct err *err)
{
    struct binder b = {0};
    if (prepare(store, EACH_TASK, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    int rc;
    while ((rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct row r = {b.stmt, 0};
        struct store_task t = {0};
        const char **const texts[] = {&t.run,       &t.id,           &t.title,  &t.engine,
                                      &t.state,     &t.failure,      &t.reason, &t.branch,
                                      &t.workspace, &t.start_commit, &t.commit, &t.landed};
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            *texts[i] = text(&r);
        t.place = (int)number(&r);
        t.attempts = (int)number(&r);
        t.exit_code = (int)number(&r);
        t.started = number(&r);
        t.finished = number(&r);
        t.tokens_in = number(&r);
        t.tokens_out = number(&r);
        t.usd = sqlite3_column_double(b.stmt, r.n);
        if (!fn(ctx, &t))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}

int store_each_event(struct store *store, const char *run, int64_t after, store_event_fn *fn,
                     void *ctx, struct err *err)
{
    struct binder b = {0};
    if (prepare(store, EACH_EVENT, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_int(&b, after);
    int rc;
    while ((rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct row r = {b.stmt, 0};
        struct store_event ev = {.seq = number(&r)};
        ev.time = number(&r);
        ev.name = text(&r);
        ev.run = text(&r);
        ev.task = text(&r);
        ev.attempt = (int)number(&r);
        ev.data = text(&r);
        if (!fn(ctx, &ev))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}
