/*
 * Private declarations of this folder.
 */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include "store/store.h"

#include <sqlite3.h>

enum store_statement {
    ADD_EVENT,
    PUT_RUN,
    PUT_TASK,
    DROP_TASK,
    PUT_SPENDING,
    PUT_SEAL,
    EACH_RUN,
    NEWEST_RUN,
    FIND_RUN,
    EACH_TASK,
    FIND_TASK,
    EACH_EVENT,
    EACH_RESUME,
    EACH_SPENDING,
    EACH_UNPRICED, /* for a version without prices */
    GET_SEAL,
    ADD_ENGINE_EVENTS,
    EACH_ENGINE_EVENTS,
    HAS_LANDED,
    DATA_VERSION,
    BEGIN,
    COMMIT,
    STATEMENT_COUNT_,
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *stmt[STATEMENT_COUNT_];
    char *notice;
    int version;                 /* of the tables; we read older versions without migrating them */
    bool in_group, group_failed; /* a write of this group has failed: discard the group */
    bool group_soon;             /* the group need not survive a power failure */
    bool damaged;                /* the last error shows that the file is damaged */
    bool lost; /* there was no disk space for the memory shared with other processes */
    struct store *lost_before;
};

enum {
    STORE_HAS_SPENDING = 2,
    STORE_HAS_PRICES = 3,
    STORE_HAS_SEALS = 4,
    STORE_HAS_ENGINE_EVENTS = 6,
}; /* the first version of the tables with each feature */

/* Sets err to SQLite's own message. */
int store_failed(struct store *store, const char *what, struct err *err);

/* Like SQLite's functions of these names; SQLITE_FULL if the store is lost. */
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret);
int store_step(struct store *store, sqlite3_stmt *stmt);
void store_reset(struct store *store, sqlite3_stmt *stmt);    /* also clears the bound values */
int store_step_once(struct store *store, sqlite3_stmt *stmt); /* a step and a reset */
void store_finalize(struct store *store, sqlite3_stmt *stmt);
int store_execute(struct store *store, const char *sql);
void store_shut(struct store *store);

/* Fills a new store, within a transaction, with the facts about earlier runs that refs and run
 * folders show. dir is the folder of the store; *ret_runs is the number of runs. */
int store_rebuild(struct store *store, const char *dir, size_t *ret_runs, struct err *err);

#endif
