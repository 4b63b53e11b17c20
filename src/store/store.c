#include "store/store_private.h"

#include "base/mem.h"
#include "sys/test_kill_point.h"

#include <stdlib.h>
#include <string.h>

#define RUN_COLUMNS                                                                                \
    "id, plan, name, base, base_commit, tip, state, started, finished, pid, pid_start, exit_code"
#define TASK_COLUMNS                                                                               \
    "run, id, title, engine, state, failure, reason, branch, workspace, start_commit, commit_id, " \
    "landed, place, attempts, exit_code, started, finished, tokens_in, tokens_out, usd"

static const char *const sql[STATEMENT_COUNT_] = {
    [ADD_EVENT] = "insert into events (time, name, run, task, attempt, data)"
                  " values (?, ?, ?, ?, ?, ?)",
    [PUT_RUN] = "insert or replace into runs (" RUN_COLUMNS ")"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_TASK] = "insert or replace into tasks (" TASK_COLUMNS ")"
                 " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_SPENDING] = "insert or replace into spending (run, task, engine, model, attempt, time,"
                     " tokens_in, tokens_out, cache_read, cache_made, usd, prices)"
                     " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [DROP_TASK] = "delete from tasks where run = ? and id = ?",
    [PUT_SEAL] = "insert or replace into seals values (?,?)",
    [GET_SEAL] = "select digests from seals where run = ?",
    [ADD_ENGINE_EVENTS] = "insert into engine_events select ?1, ifnull(max(seq), 0) + 1, ?2"
                          " from engine_events where run = ?1",
    [EACH_ENGINE_EVENTS] = "select events from engine_events where run = ? order by seq",
    [HAS_LANDED] = "select 1 from tasks where landed = ?1"
                   " union all select 1 from runs where tip = ?1 and finished > 0 limit 1",
    [EACH_RUN] = "select " RUN_COLUMNS " from runs order by started desc, id desc",
    [NEWEST_RUN] = "select " RUN_COLUMNS " from runs order by started desc, id desc limit 1",
    [FIND_RUN] = "select " RUN_COLUMNS " from runs where id = ?",
    [EACH_TASK] = "select " TASK_COLUMNS " from tasks where run = ? order by place",
    [FIND_TASK] = "select " TASK_COLUMNS " from tasks where run = ? and id = ?",
    [EACH_EVENT] = "select seq, time, name, run, task, attempt, data from events"
                   " where run = ? and seq > ? order by seq",
    [EACH_RESUME] = "select seq, time, name, run, task, attempt, data from events"
                    " where run = ? and seq > ? and name = 'run.resumed' order by seq",
    [EACH_SPENDING] = "select run, task, engine, model, attempt, time, tokens_in, tokens_out,"
                      " cache_read, cache_made, usd, prices from spending"
                      " where (?1 is null or run = ?1) and time >= ?2 order by run, task, attempt",
    [EACH_UNPRICED] = "select run, task, engine, model, attempt, time, tokens_in, tokens_out,"
                      " cache_read, cache_made, usd, null from spending"
                      " where (?1 is null or run = ?1) and time >= ?2 order by run, task, attempt",
    [DATA_VERSION] = "pragma data_version",
    [BEGIN] = "begin immediate",
    [COMMIT] = "commit",
};

int store_failed(struct store *store, const char *what, struct err *err)
{
    if (store->lost)
        return err_set(err, ERR_ENV,
                       "state.db: %s: no space left on the disk for the memory shared with readers",
                       what);
    int code = sqlite3_errcode(store->db) & 0xff;
    store->damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    return err_set(err, ERR_ENV, "state.db: %s: %s", what, sqlite3_errmsg(store->db));
}

static int prepare_statement(struct store *store, enum store_statement statement,
                             sqlite3_stmt **ret, struct err *err)
{
    sqlite3_stmt **stmt = &store->stmt[statement];
    if (store->lost || (!*stmt && store_prepare(store, sql[statement], stmt) != SQLITE_OK))
        return store_failed(store, "prepare", err);
    *ret = *stmt;
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (int i = 0; i < STATEMENT_COUNT_; i++)
        store_finalize(store, store->stmt[i]);
    store_shut(store);
    if (store->lost)
        return;
    free(store->notice);
    free(store);
}

const char *store_notice(const struct store *store)
{
    return store->notice;
}

/* Binds values one after the other. */
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

static int run_statement(struct store *store, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    int rc = store_step_once(store, stmt); /* the reset repeats the error of the step */
    return rc == SQLITE_DONE ? 0 : store_failed(store, what, err);
}

/* Runs a statement that writes; fails also if a value could not be bound. Some failures make SQLite
 * end the group's transaction, so after a failure we write nothing more of that group. */
static int run_write(struct store *store, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    if (store->group_failed)
        return err_set(err, ERR_ENV, "state.db: %s: an earlier write has failed", what);
    kill_point(false);
    int rc = run_statement(store, stmt, what, err);
    kill_point(true);
    store->group_failed = rc && store->in_group;
    return rc;
}

int store_add_event(struct store *store, struct store_event *ev, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, ADD_EVENT, &b.stmt, err))
        return -1;
    bind_int(&b, ev->time);
    bind_text(&b, ev->name);
    bind_text(&b, ev->run);
    bind_text(&b, ev->task);
    bind_int(&b, ev->attempt);
    bind_text(&b, ev->data);
    if (run_write(store, b.stmt, "add an event", err))
        return -1;
    ev->seq = sqlite3_last_insert_rowid(store->db);
    return 0;
}

int store_put_run(struct store *store, const struct store_run *run, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, PUT_RUN, &b.stmt, err))
        return -1;
    const char *const texts[] = {run->id,          run->plan, run->name, run->base,
                                 run->base_commit, run->tip,  run->state};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bind_text(&b, texts[i]);
    bind_int(&b, run->started);
    bind_int(&b, run->finished);
    bind_int(&b, run->pid);
    bind_int(&b, run->pid_start);
    bind_int(&b, run->exit_code);
    return run_write(store, b.stmt, "write a run", err);
}

int store_put_task(struct store *store, const struct store_task *t, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, PUT_TASK, &b.stmt, err))
        return -1;
    const char *const texts[] = {t->run,       t->id,           t->title,  t->engine,
                                 t->state,     t->failure,      t->reason, t->branch,
                                 t->workspace, t->start_commit, t->commit, t->landed};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bind_text(&b, texts[i]);
    const int64_t numbers[] = {t->place,    t->attempts,  t->exit_code, t->started,
                               t->finished, t->tokens_in, t->tokens_out};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        bind_int(&b, numbers[i]);
    (void)sqlite3_bind_double(b.stmt, ++b.n, t->usd);
    return run_write(store, b.stmt, "write a task", err);
}

int store_put_seal(struct store *store, const char *run, const char *digests, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, PUT_SEAL, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_text(&b, digests);
    return run_write(store, b.stmt, "write a seal", err);
}

int store_add_engine_events(struct store *store, const char *run, const char *lines,
                            struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, ADD_ENGINE_EVENTS, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_text(&b, lines);
    return run_write(store, b.stmt, "add events of the engine", err);
}

int store_put_spending(struct store *store, const struct store_spending *s, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, PUT_SPENDING, &b.stmt, err))
        return -1;
    const char *const texts[] = {s->run, s->task, s->engine, s->model};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bind_text(&b, texts[i]);
    const int64_t numbers[] = {s->attempt,    s->time,       s->tokens_in,
                               s->tokens_out, s->cache_read, s->cache_made};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        bind_int(&b, numbers[i]);
    (void)sqlite3_bind_double(b.stmt, ++b.n, s->usd);
    bind_text(&b, s->prices);
    return run_write(store, b.stmt, "write the spending", err);
}

int store_drop_task(struct store *store, const char *run, const char *id, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, DROP_TASK, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_text(&b, id);
    return run_write(store, b.stmt, "delete a task", err);
}

/* Not prepared once: a pragma takes effect when it is prepared. */
static int execute_sql(struct store *store, const char *text, struct err *err)
{
    return store_execute(store, text) == SQLITE_OK ? 0 : store_failed(store, text, err);
}

static int begin_group(struct store *store, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (prepare_statement(store, BEGIN, &stmt, err) || run_statement(store, stmt, "begin", err))
        return -1;
    store->in_group = true;
    return 0;
}

int store_begin(struct store *store, struct err *err)
{
    return execute_sql(store, "pragma synchronous=full", err) ? -1 : begin_group(store, err);
}

int store_begin_soon(struct store *store, struct err *err)
{
    if (begin_group(store, err))
        return -1;
    store->group_soon = true;
    return 0;
}

bool store_in_group(const struct store *store)
{
    return store->in_group;
}

static int commit_group(struct store *store, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    return prepare_statement(store, COMMIT, &stmt, err) || run_write(store, stmt, "commit", err)
               ? -1
               : 0;
}

int store_commit(struct store *store, struct err *err)
{
    int rc = commit_group(store, err);
    if (rc && !store->lost && !sqlite3_get_autocommit(store->db))
        (void)execute_sql(store, "rollback", NULL);
    bool soon = store->group_soon;
    store->in_group = store->group_failed = store->group_soon = false;
    if (soon)
        return rc;
    return execute_sql(store, "pragma synchronous=normal", rc ? NULL : err) ? -1 : rc;
}

/* Reads columns one after the other. */
struct row {
    sqlite3_stmt *stmt;
    int n;
};

static const char *read_text(struct row *r)
{
    return (const char *)sqlite3_column_text(r->stmt, r->n++);
}

static int64_t read_number(struct row *r)
{
    return sqlite3_column_int64(r->stmt, r->n++);
}

static int end_query(struct store *store, sqlite3_stmt *stmt, int rc, struct err *err)
{
    int result = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : store_failed(store, "read", err);
    store_reset(store, stmt);
    return result;
}

int store_version(struct store *store, int64_t *ret, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (prepare_statement(store, DATA_VERSION, &stmt, err))
        return -1;
    int rc = store_step(store, stmt);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    return end_query(store, stmt, rc, err);
}

int store_get_seal(struct store *store, const char *run, struct buf *ret, struct err *err)
{
    struct binder b = {0};
    if (store->version < STORE_HAS_SEALS)
        return 0;
    if (prepare_statement(store, GET_SEAL, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    int rc = store_step(store, b.stmt);
    struct row r = {b.stmt, 0};
    const char *digests = rc == SQLITE_ROW ? read_text(&r) : NULL;
    if (digests)
        buf_addstr(ret, digests);
    return end_query(store, b.stmt, rc, err);
}

int store_has_landed(struct store *store, const char *commit, bool *ret_yes, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, HAS_LANDED, &b.stmt, err))
        return -1;
    bind_text(&b, commit);
    int rc = store_step(store, b.stmt);
    *ret_yes = rc == SQLITE_ROW;
    return end_query(store, b.stmt, rc, err);
}

enum { RUN_TEXTS = 7, TASK_TEXTS = 12 };

static void list_run_texts(struct store_run *r, const char **ret[RUN_TEXTS])
{
    const char **const texts[RUN_TEXTS] = {&r->id,          &r->plan, &r->name, &r->base,
                                           &r->base_commit, &r->tip,  &r->state};
    memcpy(ret, texts, sizeof(texts));
}

static void list_task_texts(struct store_task *t, const char **ret[TASK_TEXTS])
{
    const char **const texts[TASK_TEXTS] = {
        &t->run,    &t->id,     &t->title,     &t->engine,       &t->state,  &t->failure,
        &t->reason, &t->branch, &t->workspace, &t->start_commit, &t->commit, &t->landed};
    memcpy(ret, texts, sizeof(texts));
}

static struct store_run read_run(sqlite3_stmt *stmt)
{
    struct row r = {stmt, 0};
    struct store_run run = {0};
    const char **texts[RUN_TEXTS];
    list_run_texts(&run, texts);
    for (size_t i = 0; i < RUN_TEXTS; i++)
        *texts[i] = read_text(&r);
    run.started = read_number(&r);
    run.finished = read_number(&r);
    run.pid = read_number(&r);
    run.pid_start = read_number(&r);
    run.exit_code = (int)read_number(&r);
    return run;
}

static struct store_task read_task(sqlite3_stmt *stmt)
{
    struct row r = {stmt, 0};
    struct store_task t = {0};
    const char **texts[TASK_TEXTS];
    list_task_texts(&t, texts);
    for (size_t i = 0; i < TASK_TEXTS; i++)
        *texts[i] = read_text(&r);
    t.place = (int)read_number(&r);
    t.attempts = (int)read_number(&r);
    t.exit_code = (int)read_number(&r);
    t.started = read_number(&r);
    t.finished = read_number(&r);
    t.tokens_in = read_number(&r);
    t.tokens_out = read_number(&r);
    t.usd = sqlite3_column_double(stmt, r.n);
    return t;
}

static void copy_texts(const char **const texts[], size_t n, struct arena *a)
{
    for (size_t i = 0; i < n; i++)
        *texts[i] = *texts[i] ? arena_str(a, *texts[i]) : NULL;
}

struct store_run store_keep_run(const struct store_run *run, struct arena *a)
{
    struct store_run copy = *run;
    const char **texts[RUN_TEXTS];
    list_run_texts(&copy, texts);
    copy_texts(texts, RUN_TEXTS, a);
    return copy;
}

struct store_task store_keep_task(const struct store_task *task, struct arena *a)
{
    struct store_task copy = *task;
    const char **texts[TASK_TEXTS];
    list_task_texts(&copy, texts);
    copy_texts(texts, TASK_TEXTS, a);
    return copy;
}

int store_find_run(struct store *store, const char *id, struct arena *a, struct store_run *ret,
                   struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, id ? FIND_RUN : NEWEST_RUN, &b.stmt, err))
        return -1;
    if (id)
        bind_text(&b, id);
    int rc = store_step(store, b.stmt);
    struct store_run run = {0};
    if (rc == SQLITE_ROW)
        run = read_run(b.stmt);
    *ret = store_keep_run(&run, a);
    return end_query(store, b.stmt, rc, err);
}

int store_find_task(struct store *store, const char *run, const char *id, struct arena *a,
                    struct store_task *ret, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, FIND_TASK, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_text(&b, id);
    int rc = store_step(store, b.stmt);
    struct store_task task = {0};
    if (rc == SQLITE_ROW)
        task = read_task(b.stmt);
    *ret = store_keep_task(&task, a);
    return end_query(store, b.stmt, rc, err);
}

int store_each_run(struct store *store, store_run_fn *fn, void *ctx, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (prepare_statement(store, EACH_RUN, &stmt, err))
        return -1;
    int rc;
    while ((rc = store_step(store, stmt)) == SQLITE_ROW) {
        struct store_run run = read_run(stmt);
        if (!fn(ctx, &run))
            break;
    }
    return end_query(store, stmt, rc, err);
}

int store_each_task(struct store *store, const char *run, store_task_fn *fn, void *ctx,
                    struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, EACH_TASK, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    int rc;
    while ((rc = store_step(store, b.stmt)) == SQLITE_ROW) {
        struct store_task t = read_task(b.stmt);
        if (!fn(ctx, &t))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}

int store_each_engine_events(struct store *store, const char *run, store_lines_fn *fn, void *ctx,
                             struct err *err)
{
    struct binder b = {0};
    if (store->version < STORE_HAS_ENGINE_EVENTS)
        return 0;
    if (prepare_statement(store, EACH_ENGINE_EVENTS, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    int rc;
    while ((rc = store_step(store, b.stmt)) == SQLITE_ROW) {
        struct row r = {b.stmt, 0};
        const char *lines = read_text(&r);
        if (lines && !fn(ctx, lines))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}

int store_each_spending(struct store *store, const char *run, int64_t since, store_spending_fn *fn,
                        void *ctx, struct err *err)
{
    struct binder b = {0};
    if (store->version < STORE_HAS_SPENDING)
        return 0;
    bool priced = store->version >= STORE_HAS_PRICES;
    if (prepare_statement(store, priced ? EACH_SPENDING : EACH_UNPRICED, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_int(&b, since);
    int rc;
    while ((rc = store_step(store, b.stmt)) == SQLITE_ROW) {
        struct row r = {b.stmt, 0};
        struct store_spending s = {0};
        const char **const texts[] = {&s.run, &s.task, &s.engine, &s.model};
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            *texts[i] = read_text(&r);
        s.attempt = (int)read_number(&r);
        int64_t *const numbers[] = {&s.time, &s.tokens_in, &s.tokens_out, &s.cache_read,
                                    &s.cache_made};
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
            *numbers[i] = read_number(&r);
        s.usd = sqlite3_column_double(b.stmt, r.n++);
        s.prices = read_text(&r);
        if (!fn(ctx, &s))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}

static int each_event(struct store *store, enum store_statement query, const char *run,
                      int64_t after, store_event_fn *fn, void *ctx, struct err *err)
{
    struct binder b = {0};
    if (prepare_statement(store, query, &b.stmt, err))
        return -1;
    bind_text(&b, run);
    bind_int(&b, after);
    int rc;
    while ((rc = store_step(store, b.stmt)) == SQLITE_ROW) {
        struct row r = {b.stmt, 0};
        struct store_event ev = {.seq = read_number(&r)};
        ev.time = read_number(&r);
        ev.name = read_text(&r);
        ev.run = read_text(&r);
        ev.task = read_text(&r);
        ev.attempt = (int)read_number(&r);
        ev.data = read_text(&r);
        if (!fn(ctx, &ev))
            break;
    }
    return end_query(store, b.stmt, rc, err);
}

int store_each_event(struct store *store, const char *run, int64_t after, store_event_fn *fn,
                     void *ctx, struct err *err)
{
    return each_event(store, EACH_EVENT, run, after, fn, ctx, err);
}

int store_each_resume(struct store *store, const char *run, store_event_fn *fn, void *ctx,
                      struct err *err)
{
    return each_event(store, EACH_RESUME, run, 0, fn, ctx, err);
}
