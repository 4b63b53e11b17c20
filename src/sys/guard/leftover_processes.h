/*
 * Ends the processes that a dead run left behind. We find them by the marks that every process of a
 * run has in its environment.
 */
#ifndef SYS_GUARD_LEFTOVER_PROCESSES_H
#define SYS_GUARD_LEFTOVER_PROCESSES_H

#include "base/err.h"
#include "base/strv.h"

#include <stdint.h>
#include <sys/types.h>

/* Ends all processes that have each of the marks ("NAME=value", NULL at the end) in their
 * environment, except us and our ancestors. Returns when there are none. For `time_limit` ms they
 * may end by themselves, as guards do when their engine dies; then we kill them. Adds the commands
 * of the killed ones to `names` (may be NULL). Fails if some cannot be ended, and names one. */
int leftover_processes_end(const char *const *marks, int64_t time_limit, struct strv *names,
                           struct err *err);

/* The same without waiting, for the tree of one killed guard. `mark` is the value of its
 * GUARD_MARK. */
int leftover_processes_end_guard(const char *run, pid_t guard, const char *mark, struct strv *names,
                                 struct err *err);

/* The same for all processes of a run. Also removes the control groups that it left. */
int leftover_processes_end_run(const char *run, int64_t time_limit, struct strv *names,
                               struct err *err);

/* Waits until all processes of a run have ended by themselves. ERR_ENV if some are alive after
 * `time_limit` ms. */
int leftover_processes_await_run(const char *run, int64_t time_limit, struct err *err);

#endif
