/*
 * Resolves the `writes` of a parallel-orchestra manifest, which are paths of the file system. They
 * are relative to the manifest's folder or absolute and may lead anywhere. Two of them are the
 * same if they lead to the same place, even through symlinks.
 */
#ifndef PROJECT_PLAN_WRITES_H
#define PROJECT_PLAN_WRITES_H

#include "project/plan_file.h"

/* Sets the pattern of each owned path. Adds an error for a symlink loop. */
void plan_writes_resolve(struct plan_file *pf, struct problems *ps);

#endif
