/*
 * What the files of the store share.
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
    EACH_UNPRICED, /* of a version without prices */
    GET_SEAL,
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
    int version;           /* of the tables: an older one is not brought up to date to be read */
    bool in_group, spoilt; /* a write of this group has failed: none of it is to be kept */
    bool damaged;          /* what it said last shows that the file is no good */
    bool lost;             /* there was no room for the memory that its users share */
    struct store *lost_before;
};

enum {
    STORE_HAS_SPENDING = 2,
    STORE_HAS_PRICES = 3,
    STORE_HAS_SEALS = 4
}; /* the versions from which on it has */

/* Fills err with the database's own words. */
int store_failed(struct store *store, const char *what, struct err *err);

/* What SQLite's functions of such names do; SQLITE_FULL where the store is lost. */
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret);
int store_step(struct store *store, sqlite3_stmt *stmt);
void store_reset(struct store *store, sqlite3_stmt *stmt); /* and clears what is bound */
void store_finalize(struct store *store, sqlite3_stmt *stmt);
int store_execute(struct store *store, const char *sql);
void store_shut(struct store *store);

/* Fills a new store, within a transaction, with what refs and run folders tell of earlier runs.
 * dir is the folder of the store; *ret_runs is the number of runs. */
int store_rebuild(struct store *store, const char *dir, size_t *ret_runs, struct err *err);

#endif
