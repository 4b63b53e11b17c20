/*
 * struct report: a whole run, loaded from the store. All tables and reports are made from it, for
 * people and for programs.
 */
#ifndef VIEW_REPORT_REPORT_H
#define VIEW_REPORT_REPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/node/node.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "run/state/merge_place.h"
#include "store/store.h"
#include "view/activity.h"
#include "view/idle.h"
#include "view/limit_text.h"

#include <stdbool.h>

/* The end of a task. */
enum report_end {
    REPORT_LANDED,
    REPORT_DONE,
    REPORT_FAILED,
    REPORT_CONFLICTED,
    REPORT_SKIPPED,
    REPORT_UNFINISHED, /* not started, still running, or ended with the run */
    REPORT_END_COUNT_,
};

/* "conflicted" for programs, "in conflict" for people. */
extern const char *const report_end_names[REPORT_END_COUNT_];
extern const char *const report_end_words[REPORT_END_COUNT_];

struct report_task {
    struct store_task row; /* state: "interrupted" if the run ended before the task */
    enum report_end end;
    int64_t duration;      /* ms of work, so far if it is not finished; below 0: not started */
    const char *logs;      /* a folder with one folder per attempt; NULL: none, or gone */
    const char *output;    /* the last lines of output, for a failure, or NULL */
    int64_t lane;          /* the lane that it is parked in; below 0: not parked */
    struct activity doing; /* of a running task */
    const char *outcome;   /* JSON of the last task.exited, or NULL */
    const char *prices;    /* date of the price list used for an estimated cost, or NULL */
    const char
        *stands; /* its landing, if it works on because a person resumed its agent; or NULL */
    bool follows_landing; /* it works on for that reason */
    int salvaged; /* the last attempt whose work was saved; 0: none, or the task succeeded */
};

/* A change outside the workspaces while tasks ran. */
struct report_change {
    const char *task;        /* NULL: one of several, listed in the data */
    const struct node *data; /* the data of git.state_changed */
};

struct report {
    struct arena arena;    /* owns the strings below */
    struct store_run row;  /* state: "interrupted" if its process is gone */
    int64_t duration, end; /* duration: ms of work; end: the end of the run, or now */
    struct idle idle;
    bool paused;      /* the user has paused the run */
    const char *logs; /* its folder; NULL: it is gone */
    const char *kept; /* the ref with landed work that the base branch does not have (kept_ref.h),
                         or NULL */
    struct merge_place merge_place; /* for work that is to be merged by hand (kept_ref.h) */
    struct report_task *tasks;
    size_t n;
    VEC(struct report_change) changes;
    VEC(struct doc) docs;       /* own the data of changes */
    struct limits_shown limits; /* limits that are still open, as far as we know */
    struct map by_id;
    size_t ends[REPORT_END_COUNT_];
    int64_t tokens_in, tokens_out; /* over all tasks that reported them; both 0: none did */
    double usd;                    /* the same; below 0: none reported a cost */
    const char *prices;            /* the date of the newest price list used */
    size_t unpriced;               /* tasks that ran and reported no cost */
};

/* Loads a run by its full id. state_dir: the folder of the store. ERR_INPUT: there is no such
 * run. */
int report_load(struct report *r, struct store *store, const char *state_dir, const char *run,
                struct err *err);
void report_done(struct report *r);
#define autoreport own_cleanup(report_done)

bool report_task_is_well(const struct report_task *t); /* it landed, or it is done */

/* True if a person had its agent work on after it had landed, and that failed. */
bool report_task_failed_after_landing(const struct report_task *t);

/* Says so, with the class and the reason: "further work failed: ...". */
void report_task_add_further_work(const struct report_task *t, struct buf *out);

/* True if the work of its last attempt failed and is saved. */
bool report_task_is_saved(const struct report_task *t);
bool report_task_ran(const struct report_task *t);
bool report_task_knows_tokens(const struct report_task *t);

/* Otherwise it is "finished", "stopped" by a signal, "broken" by an error, or "interrupted". */
bool report_is_running(const struct report *r);

/* The state for people: "paused" if it is running and the user has paused it. */
const char *report_state(const struct report *r);

enum report_format {
    REPORT_JSON,
    REPORT_MD,
    REPORT_HTML,
    REPORT_JUNIT,
    REPORT_SARIF,
    REPORT_FORMAT_COUNT_,
};

/* Sources of data that the rows do not have. */
struct report_source {
    struct store *store;
    const char *git_dir; /* the git directory that all worktrees share; NULL: no repository */
};

/* The format for the extension of a file name; ERR_INPUT: unknown extension. */
int report_format_of(const char *path, enum report_format *ret, struct err *err);

/* Fails if a report cannot be written to this path; refuses symlinks. Changes nothing. */
int report_check(const char *path, struct err *err);

/* Writes the report atomically; makes missing folders. */
int report_write(const struct report *r, const struct report_source *from,
                 enum report_format format, const char *path, struct err *err);

int report_add(const struct report *r, const struct report_source *from, enum report_format format,
               struct buf *out, struct err *err);
struct node *report_encode(const struct report *r, struct arena *a); /* the JSON form */

/* One file per format. */
struct report_details;
void report_json(struct report_details *m, struct buf *out);
void report_md(struct report_details *m, struct buf *out);
void report_html(struct report_details *m, struct buf *out);
void report_junit(struct report_details *m, struct buf *out);
void report_sarif(struct report_details *m, struct buf *out);

#endif
