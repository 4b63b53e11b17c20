/*
 * The description of a commit of an attempt's files (workspace/commit/commit.h).
 */
#ifndef RUN_COMMIT_COMMIT_JOB_H
#define RUN_COMMIT_COMMIT_JOB_H

#include "workspace/commit/commit.h"

struct attempt;

struct commit_job attempt_commit(const struct attempt *attempt, const char *index,
                                 const char *message);

#endif
