/*
 * Deleting what is already out of use, in a process of its own: a large tree takes seconds, in
 * which nothing else would happen. The run does not end before that has.
 */
#ifndef RUN_PREPARE_DELETE_LATER_H
#define RUN_PREPARE_DELETE_LATER_H

#include "run/run_private.h"

/* Whether a job's workspace is so large that another process should delete it. */
bool delete_later_is_worth_it(const struct attempt *job);

/* Begins to delete paths; what goes wrong later is told as an error of the task's (-1: of no
 * one's). */
int delete_later(struct run *run, int64_t task, const struct strv *paths, struct err *err);

#endif
