/*
 * struct store: the journal of all runs, in `state.db` (SQLite, WAL). We only ever append events.
 * The rows of runs and tasks hold the sum of these events, so queries need no replay. Other
 * processes may read while a run writes.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct store_event {
    int64_t seq, time;
    const char *name, *run;
    const char *task; /* or NULL */
    int attempt;
    const char *data; /* JSON, or NULL */
};

/* Strings are borrowed: from the caller in calls that write, and only during the call in callbacks.
 * Times are ms since 1970; 0: none yet. */
struct store_run {
    const char *id, *plan, *name, *base, *base_commit, *tip, *state;
    int64_t started, finished, pid, pid_start;
    int exit_code;
};

/* Names that stand beside a run's tasks; no task id contains a plus. STORE_RESULT: the branch with
 * the landed commits if the base could not follow (refs/heads/anabranch/RUN/...). STORE_SHARED:
 * things that all worktrees share and that agents removed, in the salvage refs and in the run's
 * folder. */
#define STORE_RESULT "+result"
#define STORE_SHARED "+shared"

/* A file in a run's folder, with a line "COMMIT TASK" for each landed task. */
#define STORE_LANDED "+landed"

/* The same for commits that we made of the work of an agent that was done. */
#define STORE_COMMITTED "+committed"

struct store_task {
    const char *run, *id, *title, *engine, *state;
    const char *failure, *reason; /* cause of the failure, or NULL */
    const char *branch, *workspace, *start_commit, *commit;
    const char *landed; /* the landed commit; in other states: the commit that is about to land */
    int place, attempts, exit_code;
    int64_t started, finished, tokens_in, tokens_out;
    double usd; /* below 0: unknown */
};

/* Tokens and cost of one attempt so far. */
struct store_spending {
    const char *run, *task, *engine;
    const char *model; /* named by the agent, or else by the plan; or NULL */
    int attempt;
    int64_t time;                   /* of the last report, ms since 1970 */
    int64_t tokens_in, tokens_out;  /* without cached tokens */
    int64_t cache_read, cache_made; /* cached tokens */
    double usd;                     /* below 0: unknown */
    const char *prices; /* date of the prices used for `usd`; NULL: the engine reported the cost */
};

/*
 * Opens the store in folder dir (`<common git dir>/anabranch`, or a folder of the project outside a
 * repository). Without `create` it is read-only: we create and change nothing, and a missing store
 * is ERR_INPUT.
 *
 * With `create` we create a missing store and migrate an old one. We set a damaged store aside and
 * create a new one, which begins with the facts about earlier runs that refs and run folders still
 * show. We never write to a store of a newer program: ERR_ENV.
 */
int store_open(struct store **ret, const char *dir, bool create, struct err *err);

/* A message for the user about the opening, or NULL: a damaged store was set aside. */
const char *store_notice(const struct store *store);

void store_close(struct store *store);
static inline void store_closep(struct store **store)
{
    store_close(*store);
}
#define autostore own_cleanup(store_closep)

/* Writes survive the death of this program. After a power failure the last writes may be missing,
 * except writes in a group and all writes before a group. */

/* Adds an event and sets its seq. */
int store_add_event(struct store *store, struct store_event *ev, struct err *err);

/* Adds a row or replaces the row with the same key. */
int store_put_run(struct store *store, const struct store_run *run, struct err *err);
int store_put_task(struct store *store, const struct store_task *task, struct err *err);

int store_put_spending(struct store *store, const struct store_spending *s, struct err *err);

/* The valid digests of a run's saved files (run/state/run_folder.h), separated by spaces.
 * store_get_seal() appends nothing if an older program started the run. */
int store_put_seal(struct store *store, const char *run, const char *digests, struct err *err);
int store_get_seal(struct store *store, const char *run, struct buf *ret, struct err *err);

/* Deletes the row of a task; its events stay. */
int store_drop_task(struct store *store, const char *run, const char *id, struct err *err);

/* A group: all writes between the two calls reach the disk together or not at all, and survive a
 * power failure. After one write in a group fails, the others fail too. */
int store_begin(struct store *store, struct err *err);

/* The same for a group that need not survive a power failure, like a write outside of a group: two
 * writes cost as much as one. */
int store_begin_unsynced(struct store *store, struct err *err);
int store_commit(struct store *store, struct err *err);
bool store_in_group(const struct store *store);

/* *ret_yes is true if a task landed as this commit, or a finished run has it as its tip. */
int store_has_landed(struct store *store, const char *commit, bool *ret_yes, struct err *err);

/* A number that changes whenever another process has written since the last call. */
int store_version(struct store *store, int64_t *ret, struct err *err);

/* Finds a row and copies it into the arena. If there is none, all members are zero, so id is NULL.
 * For runs, id NULL means the newest run. */
int store_find_run(struct store *store, const char *id, struct arena *a, struct store_run *ret,
                   struct err *err);
int store_find_task(struct store *store, const char *run, const char *id, struct arena *a,
                    struct store_task *ret, struct err *err);

/* Copies a row and its strings into the arena. */
struct store_run store_keep_run(const struct store_run *run, struct arena *a);
struct store_task store_keep_task(const struct store_task *task, struct arena *a);

/* Calls `fn` for each row: runs newest first, tasks in the order of their plan, events by time.
 * `fn` returns false to stop. */
typedef bool store_run_fn(void *ctx, const struct store_run *run);
typedef bool store_task_fn(void *ctx, const struct store_task *task);
typedef bool store_spending_fn(void *ctx, const struct store_spending *s);
typedef bool store_event_fn(void *ctx, const struct store_event *ev);
int store_each_run(struct store *store, store_run_fn *fn, void *ctx, struct err *err);
int store_each_task(struct store *store, const char *run, store_task_fn *fn, void *ctx,
                    struct err *err);
/* For one run, or all runs (NULL), since a time; sorted by run, task and attempt. */
int store_each_spending(struct store *store, const char *run, int64_t since, store_spending_fn *fn,
                        void *ctx, struct err *err);
int store_each_event(struct store *store, const char *run, int64_t after, store_event_fn *fn,
                     void *ctx, struct err *err);

/* Only the events run.resumed, found with an index. */
int store_each_resume(struct store *store, const char *run, store_event_fn *fn, void *ctx,
                      struct err *err);

#endif
