/*
 * The run that goes on at this moment, for commands that talk to it.
 */
#ifndef CLI_COMMON_LIVE_RUN_H
#define CLI_COMMON_LIVE_RUN_H

#include "base/node/node.h"
#include "cli/common/lookup.h"

/* Finds the run that a word stands for, or (NULL) the only one that goes on. *ret_dir, its folder,
 * is the caller's, and NULL where none goes on: then nothing is said. Exit codes as of
 * lookup.h. */
int live_run_find(struct lookup *look, const char *word, char **ret_id, char **ret_dir);

/* The only one that goes on; false where there is none, or several. */
bool live_run_only(struct lookup *look, char **ret_id, char **ret_dir);

/* Asks it for something, and prints its answer. `instead` says what to do where it does not go on.
 */
int live_run_ask(const char *word, const struct node *request, const char *instead);

/* Asks the run of that folder, and prints its answer. False where it has come to its end meanwhile:
 * its lock is the caller's then. */
bool live_run_try(const char *dir, const struct node *request, int *ret_lock, int *ret_code);

/* Lets a run that goes on and was paused begin tasks again; false where there is no such run. */
bool live_run_continue(struct lookup *look, const char *word, int *ret_code);

#endif
