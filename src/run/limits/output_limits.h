/*
 * What an attempt may print and change (`limits.output`, `limits.change`), so that one that prints
 * or writes without an end takes neither the disk nor our time.
 */
#ifndef RUN_LIMITS_OUTPUT_LIMITS_H
#define RUN_LIMITS_OUTPUT_LIMITS_H

#include "plan/plan.h"

#include <stdbool.h>

struct attempt;
struct flood;

/* The limits of a task, with those of the plan and the defaults: 0 where there is none. */
struct task_limits task_limits_of(const struct plan *plan, uint32_t task);
struct task_limits output_limits_of(const struct attempt *job);

/* The default of a change, for who has no plan. */
struct change_limits change_limits_of(void);

/* Watches the two files that a command of the job appends to. When the attempt has printed more
 * than it may, the command is killed, job->flooded is set, and the files are cut at the limit. */
struct flood *output_watch_watch(struct attempt *job, const char *out, const char *err);
/* The command has ended: to be called before anyone reads the files. NULL is fine. */
void output_watch_end(struct flood *f);
/* Gives up watching, of a job that goes. NULL is fine. */
void output_watch_free(struct flood *f);

#endif
