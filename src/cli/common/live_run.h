/*
 * Finds the live run and sends requests to it.
 */
#ifndef CLI_COMMON_LIVE_RUN_H
#define CLI_COMMON_LIVE_RUN_H

#include "base/node/node.h"
#include "cli/common/lookup.h"

/* Finds the only live run. False if there is none, or more than one. */
bool live_run_only(struct lookup *look, char **ret_id, char **ret_dir);

/* Sends a request to the run and prints its answer. `instead` tells the user what to do if the run
 * is not alive. */
int live_run_ask(const char *word, const struct node *request, const char *instead);

/* Sends a request to the run of that folder and prints its answer. Returns false if the run has
 * ended meanwhile: then the caller holds its lock. */
bool live_run_try(const char *dir, const struct node *request, int *ret_lock, int *ret_code);

/* Continues a paused live run. False if there is no such run. */
bool live_run_continue(struct lookup *look, const char *word, int *ret_code);

#endif
