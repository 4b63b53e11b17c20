/*
 * A run in the words of parallel-orchestra: its summary, its dry run, its reports and its run
 * state. Only the command line of that name uses this; the engine knows nothing of it.
 */
#ifndef DROPIN_ORCHESTRA_VIEW_H
#define DROPIN_ORCHESTRA_VIEW_H

#include "base/buf.h"
#include "base/err.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* What an agent said of its own work: a JSON object on the last line of its output that is not
 * blank, or of the text of its result. The strings are harmless, NULL where it did not say. */
struct orchestra_result {
    char *status, *report, *reason;
    int64_t cycles; /* below 0: not said */
    bool failed;    /* by its own words */
};
void orchestra_result_done(struct orchestra_result *r);

struct orchestra_task {
    bool resumed;  /* was done before: not run */
    int before;    /* attempts of an earlier process, whose run this one resumes */
    bool has_code; /* its agent ended by itself, with */
    int code;      /* an exit code, or minus the number of a signal */
    struct orchestra_result result;
};

struct orchestra {
    struct plan_file *pf;
    const char *path; /* of the manifest, as given */
    struct run *run;  /* NULL before there is one */
    struct orchestra_task *tasks;
    int64_t started, finished; /* ms since 1970 */
};
void orchestra_init(struct orchestra *o, struct plan_file *pf, const char *path);
void orchestra_done(struct orchestra *o);

void orchestra_result_read(const struct orchestra *o, const char *path, struct orchestra_result *r);

/* Its manifests ask for things that they have no word for: full permissions for tasks that write,
 * retries after a limit as after any failure, `writes` as a declaration rather than a fence. */
void orchestra_settle(struct plan *plan);

/* For the engine's options: whether the agent calls itself FAILED; ctx is a struct orchestra. */
run_judge_fn orchestra_judge;

/* Likewise: exit codes go before words, the standard error before all else that it said. */
run_blame_fn orchestra_blame;

/* Takes what an event tells of a task's agent. */
void orchestra_event(struct orchestra *o, const struct event *ev);

enum orchestra_end {
    ORCHESTRA_SUCCEEDED,
    ORCHESTRA_FAILED,
    ORCHESTRA_SKIPPED,
    ORCHESTRA_RESUMED,
    ORCHESTRA_END_COUNT_,
};
enum orchestra_end orchestra_end(const struct orchestra *o, uint32_t task);
bool orchestra_timed_out(const struct orchestra *o, uint32_t task);

/* "none", "timeout", "permanent", "rate_limited", "transient", or, where that tool ended without a
 * report, "conflict". */
const char *orchestra_category(const struct orchestra *o, uint32_t task);
int orchestra_retries(const struct orchestra *o, uint32_t task);
double orchestra_seconds(const struct orchestra *o, uint32_t task); /* over all its attempts */
const char *orchestra_name(const struct orchestra *o);              /* of the manifest */

/* The last twenty lines that its agent printed, less blank ones. */
void orchestra_tail(const struct orchestra *o, uint32_t task, struct buf *out);

/* One line per task; quiet: not of those that are done. */
void orchestra_summary(const struct orchestra *o, bool quiet, struct buf *out);
void orchestra_dry_run(const struct orchestra *o, size_t workers, struct buf *out);

/* Whether a report could be written there: ERR_ENV where the ending is not known, or it is a
 * symlink or in no folder. */
int orchestra_report_check(const char *path, struct err *err);

/* JSON or Markdown, by the ending of the name; folders are made. */
int orchestra_report(const struct orchestra *o, const char *path, struct err *err);

/*
 * The run state: which tasks are done for good, in a file beside the manifest.
 */
struct orchestra_state {
    const struct orchestra *o;
    char *path;
    char hash[65];       /* of the manifest */
    char tasks_hash[65]; /* of what its tasks are, whatever else is in it */
    int64_t created;
    bool *done;
    bool dirty;
    int64_t written, cost; /* monotonic ms of the last write, and what it took */
};
int orchestra_state_init(struct orchestra_state *s, const struct orchestra *o, struct err *err);
void orchestra_state_done(struct orchestra_state *s);

/* Marks the tasks that the file lists. -1, with why, where there is none that can be used: then all
 * are to be run. A task counts only where those that it depends on are listed as well. */
int orchestra_state_load(struct orchestra_state *s, struct err *err);

/* The run is one that an earlier process began: what that has done is done, whatever the file says.
 */
void orchestra_recall(struct orchestra_state *s, struct orchestra *o);

/* Takes in what has landed by now, and writes it down; not at each call where calls come so fast
 * that writing would take a large part of the time, unless `now`. */
int orchestra_state_update(struct orchestra_state *s, bool now, struct err *err);
int orchestra_state_remove(struct orchestra_state *s, struct err *err);

#endif
