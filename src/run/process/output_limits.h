/*
 * Limits what an attempt may print and change (`limits.output`, `limits.change`), so that an
 * attempt that prints or writes endlessly takes neither the disk nor our time.
 */
#ifndef RUN_PROCESS_OUTPUT_LIMITS_H
#define RUN_PROCESS_OUTPUT_LIMITS_H

#include "plan/engine/limits/task_limits.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt;
struct flood;

struct task_limits output_limits_of(const struct attempt *attempt);

/* The sizes of the two files before the command started: it may write at once. */
struct output_sizes {
    int64_t out, err;
};
struct output_sizes output_sizes_of(int out, int err);

/* Watches the two open files to which a command of the attempt appends, and owns the descriptors.
 * If the attempt prints more than its limit, we kill the command, set
 * attempt->command.printed_too_much, and cut the files at the limit. NULL: there is no limit. */
struct flood *output_watch_watch(struct attempt *attempt, int out, int err,
                                 struct output_sizes before);
/* Call this when the command has ended, before anyone reads the files. `f` may be NULL. */
void output_watch_end(struct flood *f);
/* Stops watching, for an attempt that goes. `f` may be NULL. */
void output_watch_free(struct flood *f);

#endif
