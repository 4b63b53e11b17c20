/*
 * Checks what a task may change: the paths that it owns, and none where others have landed work
 * that would be undone.
 */
#ifndef RUN_COMMIT_SCOPE_H
#define RUN_COMMIT_SCOPE_H

#include "workspace/commit/commit.h"

#include <stdbool.h>

struct attempt;

/* Each returns false if it has failed the attempt. */

/* Checks paths (each followed by a NUL). If the plan only warns, records them and returns true. */
bool attempt_check_paths(struct attempt *attempt, const struct buf *paths);

/* The same for all paths that a commit of the attempt changes. */
bool attempt_check_scope(struct attempt *attempt, const struct commit_draft *draft,
                         const char *commit);

/* True if the landing would keep others' work. No option allows this: a task that has to undo
 * others' work must depend on them, and starts with it. */
bool attempt_check_reverts(struct attempt *attempt, const struct commit_draft *draft);

#endif
