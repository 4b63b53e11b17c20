/*
 * The layout of the state folder, which is `<common git dir>/anabranch`, or a folder of the project
 * outside a repository, and the names of our refs:
 *
 *     lock                 the lock on the metadata of worktrees
 *     tmp/                 unfinished and retired files
 *     runs/RUN/            the folder of a run
 *     runs/RUN/TASK/N/     the folder of an attempt: out, err, verify.out, feedback, excludes, ...
 *
 * The caller frees each path.
 */
#ifndef GIT_STATE_PATHS_H
#define GIT_STATE_PATHS_H

#include <stdbool.h>

enum { RUN_ID_LEN = 20 }; /* 20260301-120000-12ab */

/* Names in a run's folder. The folders of tasks are beside them; their names have no dots. */
#define RUN_LOCK     "run.alive"    /* the run keeps this file locked as long as it lives */
#define RUN_SALVAGE  "run.salvage"  /* patterns of ignored files to save, a NUL after each */
#define RUN_BRANCHES "run.branches" /* the pattern of its branches' names, if it is not ours */
#define RUN_GIT      "run.git"      /* folder: git's first configuration (frozen_config.h) */
#define RUN_MADE     "run.made"     /* notes of other commands (run/watch/other_runs.h) */
#define RUN_FOLDERS  "run.folders"  /* folder: its workspaces (workspace/folder_record.h) */

/* True if s begins like the id of a run. */
bool is_run_id(const char *s);

#define SALVAGE_REFS "refs/anabranch/salvage/"
#define TIP_REFS     "refs/anabranch/runs/"

char *state_path(const char *common); /* the state folder of a repository */
char *state_lock_path(const char *common);
char *state_tmp_path(const char *common);
char *state_tmp_file_path(const char *common, const char *name);
char *state_file_path(const char *common, const char *name);

char *runs_path(const char *state_dir);
char *run_path(const char *state_dir, const char *run);
char *run_file_path(const char *state_dir, const char *run, const char *name);

/* run_dir is the folder of the run. */
char *attempt_path(const char *run_dir, const char *task, int attempt);
char *attempt_file_path(const char *run_dir, const char *task, int attempt, const char *name);

char *tip_ref_name(const char *run); /* the tip of a run: its landed commits */
char *salvage_ref_name(const char *run, const char *task, int attempt);

#endif
