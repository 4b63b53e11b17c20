/*
 * The `writes` of a parallel-orchestra manifest: paths as the file system has them. They are
 * relative to the manifest's folder or absolute, lead anywhere, and two of them are the same path
 * where they lead to the same place, through whatever symlinks.
 */
#ifndef PROJECT_PLAN_WRITES_H
#define PROJECT_PLAN_WRITES_H

#include "project/plan_file.h"

/* Sets the pattern of each owned path. Symlinks that lead in a circle are a problem. */
void plan_writes_resolve(struct plan_file *pf, struct problems *ps);

#endif
