/*
 * All calls of SQLite in which it may touch the memory that it shares with other processes. Where
 * there is no room for that any more it cannot be gone on with: the store is lost then, for as long
 * as the process lives, and each call says so.
 */
#include "store/store_private.h"

#include "base/mem.h"
#include "sys/sigbus.h"

#include <fcntl.h>
#include <unistd.h>

static struct store *lost; /* the last one: what SQLite has of them is never given back */

struct call {
    struct store *store;
    sqlite3_stmt **stmt;
    const char *sql;
    int rc;
};

/* To close a file gives back all locks that we have on it, whoever took them: nobody is to wait for
 * what will not be finished. */
static void give_back(const struct store *store, const char *ending)
{
    autofree char *path = mem_printf("%s%s", sqlite3_db_filename(store->db, "main"), ending);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
}

static void lose(struct store *store)
{
    store->lost = true;
    store->lost_before = lost;
    lost = store;
    give_back(store, "-shm");
    give_back(store, "");
}

static int carry_out(void (*fn)(void *ctx), struct call *call)
{
    if (call->store->lost)
        return SQLITE_FULL;
    if (sigbus_try(fn, call))
        return call->rc;
    lose(call->store);
    return SQLITE_FULL;
}

static void prepare(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_prepare_v3(c->store->db, c->sql, -1, SQLITE_PREPARE_PERSISTENT, c->stmt, NULL);
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret)
{
    struct call call = {.store = store, .stmt = ret, .sql = sql};
    return carry_out(prepare, &call);
}

static void step(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_step(*c->stmt);
}

int store_step(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    return carry_out(step, &call);
}

static void reset(void *ctx)
{
    struct call *c = ctx;
    (void)sqlite3_reset(*c->stmt); /* it says again what the last step said */
    (void)sqlite3_clear_bindings(*c->stmt);
}

void store_reset(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    (void)carry_out(reset, &call);
}

static void finalize(void *ctx)
{
    struct call *c = ctx;
    (void)sqlite3_finalize(*c->stmt);
}

void store_finalize(struct store *store, sqlite3_stmt *stmt)
{
    struct call call = {.store = store, .stmt = &stmt};
    (void)carry_out(finalize, &call);
}

static void execute(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_exec(c->store->db, c->sql, NULL, NULL, NULL);
}

int store_execute(struct store *store, const char *sql)
{
    struct call call = {.store = store, .sql = sql};
    return carry_out(execute, &call);
}

static void shut(void *ctx)
{
    struct call *c = ctx;
    c->rc = sqlite3_close(c->store->db);
}

void store_shut(struct store *store)
{
    struct call call = {.store = store};
    (void)carry_out(shut, &call);
}
