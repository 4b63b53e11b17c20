/*
 * Makes a run; run_open() and run_reopen() are its callers.
 */
#ifndef RUN_RUN_OPEN_H
#define RUN_RUN_OPEN_H

#include "run/run.h"

struct run *run_new(struct plan_file *pf, const char *path, const struct run_options *opts,
                    char *id, int64_t started); /* the id becomes the run's */
void run_schedule(struct run *run);

#endif
