/*
 * How a run ended, for people: one line per task, and what is left to do.
 */
#ifndef FRONT_SUMMARY_H
#define FRONT_SUMMARY_H

#include "base/buf.h"
#include "run/run.h"

void summary(const struct run *run, const struct plan_file *pf, const bool *wanted, bool quiet,
             struct buf *out);

#endif
