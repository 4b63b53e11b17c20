/*
 * struct run_folder: files in the run's own folder from which another process can resume the run,
 * even if the plan's file has changed or is gone:
 *
 *     plan.json   the plan in the canonical vocabulary, with the text of its prompt files
 *     run.json    where and how the run was started
 *     run.alive   locked (flock) by the process that executes the run
 *
 * Task ids contain no dot, so these names never collide with the folder of a task. The files are
 * readable for their owner alone (0600). They omit the values of secret variables in the plan if we
 * can read these again from the plan's file. Otherwise (the plan came from standard input, or was
 * derived from its file) they keep the values until everything is done.
 */
#ifndef RUN_STATE_RUN_FOLDER_H
#define RUN_STATE_RUN_FOLDER_H

#include "base/err.h"
#include "base/strv.h"
#include "project/secrets.h"
#include "run/run.h"
#include "sys/guard/proc_table.h"

#include <stdbool.h>

struct store;

struct run_folder {
    struct doc doc;                 /* run.json; owns the strings below */
    const char *run;                /* its id */
    const char *plan, *plan_file;   /* path as given, and absolute; plan_file is NULL for "-" */
    const char *plan_dir;           /* folder of the plan */
    enum plan_kind kind;            /* the plan's original vocabulary */
    const char *base, *base_commit; /* NULL outside a repository */
    int64_t started;
    struct strv only;           /* ids of the selected tasks; empty: all */
    struct run_options options; /* without `wanted` and without callbacks */
    const char *dropin;         /* the drop-in that started the run, or NULL */
    const char *digest; /* digest of the plan's file, if the plan was derived from it; or NULL */
    struct strv logger; /* options.logger points to it */
    bool hides;         /* only the plan's file has the values of secrets */
};

/* Writes both files, for a new run or for a resumed one with an edited plan. */
int run_folder_write(const struct run *run, struct err *err);

/* Removes the values of secrets from the files when everything is done. */
int run_folder_forget(const struct run *run, struct err *err);

/* Removes the files of a run that could not start. */
void run_folder_remove(const char *dir);

/* Compares both files with their digests in the store. Returns ERR_INPUT if one differs: an agent
 * may have changed what a resumed run does. */
int run_folder_check(struct store *store, const char *run, const char *dir, struct err *err);

/* Reads run.json in the folder dir. ERR_INPUT if it is missing or not ours. Release `saved` in
 * every case. */
int run_folder_load(struct run_folder *saved, const char *dir, struct err *err);
void run_folder_done(struct run_folder *saved);
#define autosaved own_cleanup(run_folder_done)

/* Opens the saved plan, like plan_file_open(). */
int run_folder_plan(const struct run_folder *saved, const char *dir, struct plan_file *pf,
                    struct problems *ps);

/* Reads the omitted values of secrets from the plan's file. ERR_INPUT if one is missing there. */
int run_folder_recall(const struct run_folder *saved, const struct doc_options *opts,
                      struct plan *plan, struct err *err);

/* Collects the secrets of the run in the folder dir, as far as they can be found. */
void run_folder_secrets(const char *dir, struct secrets *ret);

/* Describes a task in one line. If two plans have the same line for a task, they ask for the same
 * work. The line omits how to do it (engine, model, limits of time and money, landing order) and
 * secrets. */
void run_folder_task_text(const struct plan_file *pf, uint32_t task, struct buf *out);

/* The same without the verification: only the work that the agent is asked for. */
void run_folder_task_request(const struct plan_file *pf, uint32_t task, struct buf *out);

/* Locks the run in the folder dir. *ret_fd is -1 if another process has the lock: that run is
 * alive. */
int run_folder_lock(const char *dir, int *ret_fd, struct err *err);

/* The same for a run whose engine may have been killed a moment ago. A process that it was
 * starting, or its own exit, may hold the lock a little longer. */
int run_folder_lock_after(const char *dir, const struct proc_id *engine, int *ret_fd,
                          struct err *err);

#endif
