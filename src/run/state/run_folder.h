/*
 * struct run_folder: a run as it was begun, in its own folder, so that another process can go on
 * with it when this one is gone, whatever has become of the plan's file:
 *
 *     plan.json   the plan in the canonical vocabulary, with the prompts that it has in files
 *     run.json    from where it was started, and how
 *     run.alive   held (flock) by the process that carries the run out
 *
 * No id of a task has a point in it, so none of them is in the way of a task's folder.
 * The files are for their owner alone (0600). Values of secret variables that the plan itself has
 * are not kept where the plan's own file can be asked for them again; else (the plan came from
 * standard input, or was derived from its file) until all is done.
 */
#ifndef RUN_STATE_RUN_FOLDER_H
#define RUN_STATE_RUN_FOLDER_H

#include "base/strv.h"
#include "project/secrets.h"
#include "run/run.h"
#include "sys/guard/proc_table.h"

#include <stdbool.h>

struct store;

struct run_folder {
    struct doc doc;                 /* run.json; the strings below are in it */
    const char *run;                /* its id */
    const char *plan, *plan_file;   /* as it was given, and absolute; plan_file is NULL for "-" */
    const char *plan_dir;           /* the folder that it was in */
    enum plan_kind kind;            /* the vocabulary that it was written in */
    const char *base, *base_commit; /* NULL outside a repository */
    int64_t started;
    struct strv only;           /* ids of the tasks that were wanted; empty: all */
    struct run_options options; /* without `wanted` and what is not of a plain run */
    const char *dropin;         /* the tool that it was started as, or NULL */
    const char *digest;         /* of the plan's file, where the plan is only derived from it */
    struct strv logger;         /* options.logger points to it */
    bool hides;                 /* the values of secrets are in the plan's file alone */
};

/* Writes both files of a run that begins, or that goes on with a plan that was edited. */
int run_folder_write(const struct run *run, struct err *err);

/* All is done: no value of a secret is needed any more. */
int run_folder_forget(const struct run *run, struct err *err);

/* Takes them away again: the run could not begin. */
void run_folder_remove(const char *dir);

/* Whether both files are what a run wrote: their digests are in the store. ERR_INPUT where one is
 * not: an agent may have changed it, and what a resumed run does is in them. */
int run_folder_check(struct store *store, const char *run, const char *dir, struct err *err);

/* Reads run.json of the run whose folder dir is. ERR_INPUT where there is none, or not one of ours.
 * To be released in every case. */
int run_folder_load(struct run_folder *saved, const char *dir, struct err *err);
void run_folder_done(struct run_folder *saved);
#define autosaved own_cleanup(run_folder_done)

/* Opens the plan as it was saved. As plan_file_open(). */
int run_folder_plan(const struct run_folder *saved, const char *dir, struct plan_file *pf,
                    struct problems *ps);

/* Gives it the values of secrets back that were not kept: they are in the plan's file. ERR_INPUT
 * where one is not. */
int run_folder_recall(const struct run_folder *saved, const struct doc_options *opts,
                      struct plan *plan, struct err *err);

/* What is secret in the run whose folder dir is, as far as that can be found. */
void run_folder_secrets(const char *dir, struct secrets *ret);

/* What makes a task the task that it is, as one line: two plans with the same line for a task ask
 * for the same work. How it is done (engine, model, limits of time and money, its place in the
 * order) is not in it, nor is what is secret. */
void run_folder_task_text(const struct plan_file *pf, uint32_t task, struct buf *out);

/* The same without how the result is verified: what its agent is asked for. */
void run_folder_task_request(const struct plan_file *pf, uint32_t task, struct buf *out);

/* Takes the lock of the run whose folder dir is. *ret_fd is -1 where another process has it: that
 * run is alive. */
int run_folder_lock(const char *dir, int *ret_fd, struct err *err);

/* The same for the run of an engine that may have been killed just now. A process that it was about
 * to start, or it itself on its last way, may have the lock for a moment longer. */
int run_folder_lock_after(const char *dir, const struct proc_id *engine, int *ret_fd,
                          struct err *err);

#endif
