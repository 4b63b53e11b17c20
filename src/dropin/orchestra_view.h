/*
 * The output of parallel-orchestra: its summary, dry run, reports and run state. Only that command
 * uses it.
 */
#ifndef DROPIN_ORCHESTRA_VIEW_H
#define DROPIN_ORCHESTRA_VIEW_H

#include "base/buf.h"
#include "base/err.h"
#include "run/run.h"
#include "view/idle.h"

#include <stdbool.h>
#include <stdint.h>

/* The agent's report on its own work: a JSON object on the last non-blank line of its output, or
 * of the text of its result. Strings are harmless; NULL if missing. */
struct orchestra_result {
    char *status, *report, *reason;
    int64_t cycles; /* below 0: missing */
    bool failed;    /* it says so itself */
};
void orchestra_result_done(struct orchestra_result *r);

struct orchestra_task {
    bool resumed;  /* finished before: not run again */
    int before;    /* attempts in the earlier process whose run we resume */
    bool has_code; /* its agent ended by itself; see code */
    int code;      /* exit code, or minus the number of a signal */
    struct orchestra_result result;
};

struct orchestra {
    struct plan_file *pf;
    const char *path; /* path of the manifest as given */
    struct run *run;  /* NULL before the run starts */
    struct orchestra_task *tasks;
    int64_t started, finished; /* ms since 1970 */
    struct idle idle;          /* before it was resumed; see orchestra_load_idle() */
};
void orchestra_init(struct orchestra *o, struct plan_file *pf, const char *path);
void orchestra_done(struct orchestra *o);

void orchestra_result_read(const struct orchestra *o, const char *path, struct orchestra_result *r);

/* Sets what manifests imply but cannot express: full permissions for tasks that write, retries
 * after a limit as after any failure, `writes` as information, not as a fence. */
void orchestra_settle(struct plan *plan);

/* For the engine's options: does the agent report FAILED? ctx: a struct orchestra. */
run_judge_fn orchestra_judge;

/* For the engine's options: exit codes count more than words, and standard error more than other
 * output. */
run_blame_fn orchestra_blame;

/* Records what an event tells about a task's agent. */
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

/* "none", "timeout", "permanent", "rate_limited", "transient" or "conflict". In the last case
 * that tool ended without a report. */
const char *orchestra_category(const struct orchestra *o, uint32_t task);
int orchestra_retries(const struct orchestra *o, uint32_t task);

/* Loads the times in which the run stood still, from the store. */
int orchestra_load_idle(struct orchestra *o, struct err *err);

/* Over all attempts, without the times in which the run stood still. */
double orchestra_seconds(const struct orchestra *o, uint32_t task);
/* The agent that the manifest names, or "". */
const char *orchestra_agent(const struct orchestra *o, uint32_t task);
const char *orchestra_name(const struct orchestra *o); /* of the manifest */

/* The last twenty non-blank lines of the agent's output. */
void orchestra_tail(const struct orchestra *o, uint32_t task, struct buf *out);

/* One line per task; quiet: omits tasks that succeeded in this run. */
void orchestra_summary(const struct orchestra *o, bool quiet, struct buf *out);
void orchestra_dry_run(const struct orchestra *o, size_t workers, struct buf *out);

/* Checks that a report can be written: ERR_ENV if the extension is unknown, or the path is a
 * symlink, or its folder is unusable. */
int orchestra_report_check(const char *path, struct err *err);

/* Writes JSON or Markdown, by the extension; makes missing folders. */
int orchestra_report(const struct orchestra *o, const char *path, struct err *err);

/*
 * The run state: the finished tasks, in a file next to the manifest.
 */
struct orchestra_state {
    const struct orchestra *o;
    char *path;
    char hash[65];       /* of the manifest */
    char tasks_hash[65]; /* of the definitions of the tasks only */
    int64_t created;
    bool *done;
    bool dirty;
    int64_t written; /* time of the last write; monotonic ms */
    int64_t cost;    /* ms that it took */
};
int orchestra_state_init(struct orchestra_state *s, const struct orchestra *o, struct err *err);
void orchestra_state_done(struct orchestra_state *s);

/* Marks the tasks that the file lists. Returns -1 with the reason if there is no usable file;
 * then all tasks run. A task counts only if its dependencies are listed as well. */
int orchestra_state_load(struct orchestra_state *s, struct err *err);

/* After an earlier process has been resumed: marks its finished tasks, whatever the file says. */
void orchestra_recall(struct orchestra_state *s, struct orchestra *o);

/* Records the tasks that have landed by now and writes the file. If calls come fast, skips
 * writes, so that writing takes only a small part of the time; `now` always writes. */
int orchestra_state_update(struct orchestra_state *s, bool now, struct err *err);
int orchestra_state_remove(struct orchestra_state *s, struct err *err);

#endif
