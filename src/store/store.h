/*
 * struct store: what happened, on disk: `state.db` (SQLite, WAL). Events are only ever added; the
 * rows of runs and tasks hold what the events add up to, so that a question needs no replay. Others
 * may read while a run writes.
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

/* Strings are borrowed: in calls that write from the caller, in callbacks for as long as they last.
 * Times are ms since 1970, 0 where there is none yet. */
struct store_run {
    const char *id, *plan, *name, *base, *base_commit, *tip, *state;
    int64_t started, finished, pid, pid_start;
    int exit_code;
};

/* Names beside those of a run's tasks, none of which has a plus: the branch with what landed, where
 * the base could not follow (refs/heads/anabranch/RUN/...); what agents took away that all share,
 * in salvage and in the run's folder. */
#define STORE_RESULT "+result"
#define STORE_SHARED "+shared"

/* In a run's folder: a line "COMMIT TASK" for each task that has landed. */
#define STORE_LANDED "+landed"

struct store_task {
    const char *run, *id, *title, *engine, *state;
    const char *failure, *reason; /* why it failed, or NULL */
    const char *branch, *workspace, *start_commit, *commit;
    const char *landed; /* the commit by which it landed; in another state: is about to land */
    int place, attempts, exit_code;
    int64_t started, finished, tokens_in, tokens_out;
    double usd; /* below 0: not known */
};

/* What one attempt has used so far. */
struct store_spending {
    const char *run, *task, *engine;
    const char *model; /* that the agent named, or else the plan; or NULL */
    int attempt;
    int64_t time;                   /* when that was last heard of: ms since 1970 */
    int64_t tokens_in, tokens_out;  /* without what is cached: */
    int64_t cache_read, cache_made; /* tokens */
    double usd;                     /* below 0: not known */
    const char *prices; /* date of the prices that it was reckoned with; NULL: the engine said it */
};

/*
 * Opens the store in folder dir (`<common git dir>/anabranch`, or one of the project's own outside
 * a repository), for reading alone unless create is set: then nothing is made or changed, and a
 * store that is missing is ERR_INPUT.
 *
 * With create it is made where it is missing, and brought up to date where an older program made
 * it. One that is damaged is set aside and made anew; a new one begins with what refs and run
 * folders tell of earlier runs. A store of a newer program is never written to: ERR_ENV.
 */
int store_open(struct store **ret, const char *dir, bool create, struct err *err);

/* What the user should know about the opening, or NULL: that a damaged one was set aside. */
const char *store_notice(const struct store *store);

void store_close(struct store *store);
static inline void store_closep(struct store **store)
{
    store_close(*store);
}
#define autostore own_cleanup(store_closep)

/* What is written survives the death of this program; after a power cut the last writes may be
 * missing, unless they were in a group, or before one. */

/* Adds an event and sets its seq. */
int store_add_event(struct store *store, struct store_event *ev, struct err *err);

/* Adds a row, or replaces the one with the same key. */
int store_put_run(struct store *store, const struct store_run *run, struct err *err);
int store_put_task(struct store *store, const struct store_task *task, struct err *err);

int store_put_spending(struct store *store, const struct store_spending *s, struct err *err);

/* The digests that a run's saved files (run/state/run_folder.h) may have, separated by blanks.
 * Appends nothing where the run has none: an older program began it. */
int store_put_seal(struct store *store, const char *run, const char *digests, struct err *err);
int store_get_seal(struct store *store, const char *run, struct buf *ret, struct err *err);

/* Takes a task's row away; what happened to it stays. */
int store_drop_task(struct store *store, const char *run, const char *id, struct err *err);

/* A group: what is written between the two is on disk together, or not at all, and outlives a power
 * cut. Where a write in it fails, the rest of it fails, too. */
int store_begin(struct store *store, struct err *err);
int store_commit(struct store *store, struct err *err);
bool store_in_group(const struct store *store);

/* Whether a commit is what a task landed as, or where a run left all that had landed. */
int store_has_landed(struct store *store, const char *commit, bool *ret_yes, struct err *err);

/* A number that is another one whenever somebody else has written since it was last asked for. */
int store_version(struct store *store, int64_t *ret, struct err *err);

/* One row, copied into the arena; all zero, so without an id, where there is none. NULL stands for
 * the run that began last. */
int store_find_run(struct store *store, const char *id, struct arena *a, struct store_run *ret,
                   struct err *err);
int store_find_task(struct store *store, const char *run, const char *id, struct arena *a,
                    struct store_task *ret, struct err *err);

/* Copies of rows with their texts in the arena. */
struct store_run store_keep_run(const struct store_run *run, struct arena *a);
struct store_task store_keep_task(const struct store_task *task, struct arena *a);

/* Calls back for each row: runs newest first, tasks in the order of their plan, events in the order
 * of time. The callback returns false to stop. */
typedef bool store_run_fn(void *ctx, const struct store_run *run);
typedef bool store_task_fn(void *ctx, const struct store_task *task);
typedef bool store_spending_fn(void *ctx, const struct store_spending *s);
typedef bool store_event_fn(void *ctx, const struct store_event *ev);
int store_each_run(struct store *store, store_run_fn *fn, void *ctx, struct err *err);
int store_each_task(struct store *store, const char *run, store_task_fn *fn, void *ctx,
                    struct err *err);
/* Of one run, or of all (NULL), since a time; by run, task and attempt. */
int store_each_spending(struct store *store, const char *run, int64_t since, store_spending_fn *fn,
                        void *ctx, struct err *err);
int store_each_event(struct store *store, const char *run, int64_t after, store_event_fn *fn,
                     void *ctx, struct err *err);

/* Only the events run.resumed, found by an index. */
int store_each_resume(struct store *store, const char *run, store_event_fn *fn, void *ctx,
                      struct err *err);

#endif
