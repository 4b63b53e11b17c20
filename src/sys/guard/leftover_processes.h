/*
 * What a run left behind when it was not there to end it: found by the marks that every process of
 * a run has in its environment, and ended.
 */
#ifndef SYS_GUARD_LEFTOVER_PROCESSES_H
#define SYS_GUARD_LEFTOVER_PROCESSES_H

#include "base/err.h"
#include "base/strv.h"

#include <stdint.h>
#include <sys/types.h>

/* Ends all processes whose environment has each of the marks ("NAME=value", NULL behind the last),
 * us and those above us left out, and returns when there are none. For `patience` ms they may end
 * by themselves, as guards do when their engine has gone; then they are killed. Adds the commands
 * of those that were killed to `names` (NULL: not wanted). Fails where some cannot be ended, and
 * names one. */
int leftover_processes_end(const char *const *marks, int64_t time_limit, struct strv *names,
                           struct err *err);

/* The same at once, for the tree of one guard of a run, which was killed; its mark is what it was
 * given as GUARD_MARK. */
int leftover_processes_end_guard(const char *run, pid_t guard, const char *mark, struct strv *names,
                                 struct err *err);

/* The same for all that was started by a run, with the control groups that it left. */
int leftover_processes_end_run(const char *run, int64_t time_limit, struct strv *names,
                               struct err *err);

/* Waits for all that was started by a run to end by itself. ERR_ENV where something has not after
 * `patience` ms. */
int leftover_processes_await_run(const char *run, int64_t time_limit, struct err *err);

#endif
