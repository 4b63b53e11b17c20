/*
 * The pool keeps work trees and snapshots of tasks that are over for tasks that start. git moves
 * such a tree to another commit in a tenth of the time that it needs to fill an empty one, and we
 * save the deletion.
 *
 * Each tree keeps the index that git wrote when it filled the tree. If an agent has changed a file
 * since, the file's stat data shows it, whatever the agent did to its own index. Changed files are
 * written anew, and untracked files are deleted, ignored or not. If we compared the files when we
 * committed the agent's work, we know these files. A task that then starts at the same tree needs
 * no process (workspace/reset.h).
 *
 * Trees in the pool have the name of trees that await deletion (*.gone), so that a killed run
 * leaves nothing to remember but its record of folders (workspace/folder_record.h). The pool never
 * holds more trees than there are workers, nor more than there are tasks that have not started.
 */
#ifndef RUN_PREPARE_POOL_H
#define RUN_PREPARE_POOL_H

#include "base/err.h"

#include <stdbool.h>

struct action;
struct attempt;
struct engine_event;
struct run;

/* Saves the index after git has filled the attempt's workspace: the tree may go into the pool
 * later. */
void pool_note(struct attempt *attempt);

/* True if the pool would take the tree of an attempt whose workspace goes. */
bool pool_wants(const struct attempt *attempt);

/* Takes an unused tree into the pool. Returns false if the pool does not want it, or if the tree
 * is not fit. `admin` is its administrative folder. Both are where workspace_retire() has put
 * them. */
bool pool_keep(struct attempt *attempt, const char *admin, const char *tree);

/* True if the pool has a tree. */
bool pool_has(const struct run *run);

/* Fills the attempt's workspace from the pool, as fill_by_git() fills an empty one. */
int pool_fill(struct attempt *attempt, struct err *err);

/* At the end of the run, starts to delete the trees that are left. */
void do_empty_pool(struct run *run, const struct action *a, const struct engine_event *ev);
void pool_done(struct run *run);

#endif
