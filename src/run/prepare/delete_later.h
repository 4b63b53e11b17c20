/*
 * Deletes unused trees in another process: a large tree takes seconds, during which the run could
 * do nothing else. The run does not end before the deletion has ended.
 */
#ifndef RUN_PREPARE_DELETE_LATER_H
#define RUN_PREPARE_DELETE_LATER_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt;
struct run;

/* True if an attempt's workspace is so large that another process should delete it. */
bool delete_later_is_worth_it(const struct attempt *attempt);

/* Starts to delete folders (sys/fs/known_folder.h). Later failures are recorded as errors of the
 * task (-1: of no task). */
int delete_later(struct run *run, int64_t task, const struct strv *paths, struct err *err);

#endif
