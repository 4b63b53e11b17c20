/*
 * All calls of SQLite that may touch the memory that it shares with other processes. If the disk
 * has no room for that memory, the store is lost for the rest of this process, and every call
 * fails.
 */
#include "store/store_private.h"

#include "base/mem.h"
#include "sys/sigbus.h"

#include <fcntl.h>
#include <unistd.h>

static struct store *lost; /* a list: SQLite never frees their resources */

struct call {
    struct store *store;
    sqlite3_stmt **stmt;
    const char *sql;
    int rc;
};

/* We leave work unfinished, so no other process must wait for our locks. If we close a file, the
 * kernel releases all locks that this process has on it. */
static void release_locks(const struct store *store, const char *ending)
{
    autofree char *path = mem_printf("%s%s", sqlite3_db_filename(store->db, "main"), ending);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
}

static void mark_lost(struct store *store)
{
    store->lost = true;
    store->lost_before = lost;
    lost = store;
    release_locks(store, "-shm");
    release_locks(store, "");
}

static int run_guarded(void (*fn)(void *ctx), struct call *call)
{
    if (call->store->lost)
        return SQLITE_FULL;
    if (sigbus_try(fn, call))
        return call->rc;
    mark_lost(call->store);
    return SQLITE_FULL;
}

static void call_prepare(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_prepare_v3(c->store->db, c->sql, -1, SQLITE_PREPARE_PERSISTENT, c->stmt, NULL);
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret)
{
    struct call call = {.store = store, .stmt = ret, .sql = sql};
    return run_guarded(call_prepare, &call);
}

static void call_step(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_step(*c->stmt);
}

int store_step(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    return run_guarded(call_step, &call);
}

static void call_reset(void *ctx)
{
    struct call *c = ctx;
    (void)sqlite3_reset(*c->stmt); /* it returns the error of the last step again */
    (void)sqlite3_clear_bindings(*c->stmt);
}

void store_reset(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    (void)run_guarded(call_reset, &call);
}

static void call_step_once(void *ctx)
{
    struct call *c = ctx;
    call_step(c);
    call_reset(c);
}

int store_step_once(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    return run_guarded(call_step_once, &call);
}

static void call_finalize(void *ctx)
{
    struct call *c = ctx;
    (void)sqlite3_finalize(*c->stmt);
}

void store_finalize(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    (void)run_guarded(call_finalize, &call);
}

static void call_execute(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_exec(c->store->db, c->sql, NULL, NULL, NULL);
}

int store_execute(struct store *store, const char *sql)
{
    struct call call = {.store = store, .sql = sql};
    return run_guarded(call_execute, &call);
}

static void call_close(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_close(c->store->db);
}

void store_shut(struct store *store)
{
    struct call call = {.store = store};
    (void)run_guarded(call_close, &call);
}
