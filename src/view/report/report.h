/*
 * struct report: a run as the store has it, whole, for all that is said about a run afterwards or
 * from another terminal: tables, and reports for people and programs.
 */
#ifndef VIEW_REPORT_REPORT_H
#define VIEW_REPORT_REPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/node/node.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "store/store.h"
#include "view/activity.h"
#include "view/idle.h"
#include "view/limit_text.h"

#include <stdbool.h>

/* What became of a task, in the few words that matter to a table. */
enum report_end {
    REPORT_LANDED,
    REPORT_DONE,
    REPORT_FAILED,
    REPORT_CONFLICTED,
    REPORT_SKIPPED,
    REPORT_UNFINISHED, /* not begun, under way, or given up with the run */
    REPORT_END_COUNT_,
};

struct report_task {
    struct store_task row; /* state is "interrupted" where the run ended under it */
    enum report_end end;
    int64_t duration;   /* ms of work, up to now where it is not finished; below 0: never began */
    const char *logs;   /* folder with one folder per attempt, or NULL */
    const char *output; /* last lines that explain a failure, or NULL */
    int64_t lane;       /* that it is parked in; below 0: it is not */
    struct activity doing;      /* of one that runs */
    const struct node *outcome; /* data of the last task.exited, or NULL */
    const char *prices; /* date of the prices that some of its cost was reckoned with, or NULL */
    int salvaged; /* the last attempt of which something was saved; 0: none, or it went well */
};

/* Something outside the workspaces that changed while tasks ran. */
struct report_change {
    const char *task;        /* or NULL: one of several, which are in the data */
    const struct node *data; /* of git.state_changed */
};

struct report {
    struct arena arena;    /* holds all that is below */
    struct store_run row;  /* state is "interrupted" where its process is gone */
    int64_t duration, end; /* ms of work; when it ended, or now */
    struct idle idle;
    bool paused; /* a person wants nothing more to begin */
    const char *logs;
    const char *kept; /* the ref with what landed and the base lacks (kept_ref.h), or NULL */
    struct report_task *tasks;
    size_t n;
    VEC(struct report_change) changes;
    VEC(struct doc) docs;       /* hold their data */
    struct limits_shown limits; /* that are not over, as far as is known */
    struct map by_id;
    size_t ends[REPORT_END_COUNT_];
    int64_t tokens_in, tokens_out; /* of the tasks that tell; both 0: none did */
    double usd;                    /* likewise; below 0: none did */
    const char *prices;            /* likewise: of the newest that some of it was reckoned with */
    size_t unpriced;               /* tasks that ran and did not tell what they cost */
};

/* Reads a run by its full id; state_dir is the folder of the store. ERR_INPUT where there is none.
 */
int report_load(struct report *r, struct store *store, const char *state_dir, const char *run,
                struct err *err);
void report_done(struct report *r);
#define autoreport own_cleanup(report_done)

bool report_task_is_well(const struct report_task *t); /* it landed, or did what it was to */
bool report_task_ran(const struct report_task *t);
bool report_task_knows_tokens(const struct report_task *t);

/* Else it is "finished", "stopped" by a signal, "broken" by an error, or "interrupted". */
bool report_is_running(const struct report *r);

/* That state for people: "paused" where it is running and a person has paused it. */
const char *report_state(const struct report *r);

enum report_format {
    REPORT_JSON,
    REPORT_MD,
    REPORT_HTML,
    REPORT_JUNIT,
    REPORT_SARIF,
    REPORT_FORMAT_COUNT_,
};

/* Where a report finds what the rows do not tell. */
struct report_source {
    struct store *store;
    const char *git_dir; /* the folder that all worktrees share; NULL: there is no repository */
};

/* The format that the ending of a file name asks for; ERR_INPUT where it asks for none. */
int report_format_of(const char *path, enum report_format *ret, struct err *err);

/* Whether a report could be written there: the folder, no symlink. Changes nothing. */
int report_check(const char *path, struct err *err);

/* Writes a report, at once and whole; folders are made. */
int report_write(const struct report *r, const struct report_source *from,
                 enum report_format format, const char *path, struct err *err);

int report_add(const struct report *r, const struct report_source *from, enum report_format format,
               struct buf *out, struct err *err);
struct node *report_encode(const struct report *r, struct arena *a); /* as JSON has it */

/* One file each. */
struct report_details;
void report_json(struct report_details *m, struct buf *out);
void report_md(struct report_details *m, struct buf *out);
void report_html(struct report_details *m, struct buf *out);
void report_junit(struct report_details *m, struct buf *out);
void report_sarif(struct report_details *m, struct buf *out);

#endif
